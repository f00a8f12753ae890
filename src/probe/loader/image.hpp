// A loaded module by its dynamic section: what it defines, and the words in it that the loader bound to somebody's
// definition. Reads mapped memory only; allocates nothing and takes no lock.
#pragma once

#include <elf.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

namespace heapledger::probe {

class image {
 public:
  image(std::uint64_t bias, const Elf64_Dyn* dynamic);
  explicit image(const link_map& map) : image(map.l_addr, map.l_ld) {}

  // What it defines by this name, in the version that programs linked today get; nullptr if it does not.
  void* definition(const char* name) const { return address(look_up(name, true)); }
  std::uint64_t bytes_of(const char* name) const {
    const Elf64_Sym* const found = look_up(name, true);
    return found != nullptr ? found->st_size : 0;
  }
  // An entry of its own by which it calls somebody else's function, where that entry is the function's address to all
  // modules: of a program at a fixed address that takes it.
  void* stand_in(const char* name) const { return address(look_up(name, false)); }

  const char* soname() const { return soname_ != 0 && names_ != nullptr ? names_ + soname_ : nullptr; }
  bool needs(const char* soname) const;

  // Calls f(name, word) for each word that is to hold the address of what a name means to this module, as it is: of a
  // function that is bound when it is first called, it may still be an address within the module.
  template <class F>
  void each_bound_word(F f) const {
    for (const table& each : relocations_)
      for (std::size_t i = 0; i < each.count; ++i) {
        const Elf64_Rela& entry = each.first[i];
        const std::uint64_t type = ELF64_R_TYPE(entry.r_info), symbol = ELF64_R_SYM(entry.r_info);
        const bool binds =
            type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || (type == R_X86_64_64 && entry.r_addend == 0);
        if (binds && symbol != 0) f(names_ + symbols_[symbol].st_name, bias_ + entry.r_offset);
      }
  }

 private:
  struct table {
    const Elf64_Rela* first;
    std::size_t count;
  };

  void* address(const Elf64_Sym* symbol) const {
    return symbol != nullptr ? reinterpret_cast<void*>(bias_ + symbol->st_value) : nullptr;
  }
  const Elf64_Sym* look_up(const char* name, bool defined) const;
  bool is_named(std::uint32_t symbol, const char* name, bool defined, bool& hidden) const;

  std::uint64_t bias_;
  const Elf64_Dyn* dynamic_;
  const Elf64_Sym* symbols_ = nullptr;
  const char* names_ = nullptr;
  const std::uint16_t* versions_ = nullptr;
  const std::uint32_t* gnu_hash_ = nullptr;
  const std::uint32_t* hash_ = nullptr;
  std::uint64_t soname_ = 0;
  table relocations_[2] = {};
};

}  // namespace heapledger::probe

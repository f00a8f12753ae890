#include "tool/collect/elf_traits.hpp"

#include <elfutils/libdw.h>
#include <fmt/format.h>
#include <gelf.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

namespace heapledger {
namespace {

#if defined(__x86_64__)
constexpr int native_elf_machine = EM_X86_64;
#elif defined(__aarch64__)
constexpr int native_elf_machine = EM_AARCH64;
#else
#error "this machine is not supported"
#endif

constexpr std::uint64_t code_looked_at = 256;      // places
constexpr std::uint64_t judged_code_bytes = 4096;  // less may be mostly what comes with the C library

using elf_handle = std::unique_ptr<Elf, decltype(&elf_end)>;

std::string machine_name(unsigned machine, int elf_class) {
  switch (machine) {
    case EM_X86_64:
      return elf_class == ELFCLASS32 ? "x32" : "x86-64";
    case EM_386:
      return "32-bit x86";
    case EM_AARCH64:
      return "64-bit ARM";
    case EM_ARM:
      return "32-bit ARM";
    case EM_RISCV:
      return "RISC-V";
    case EM_PPC64:
      return "64-bit PowerPC";
    case EM_S390:
      return "s390";
    default:
      return fmt::format("foreign (ELF machine {})", machine);
  }
}

struct named {
  std::string_view symbol;
  std::string_view name;
};

constexpr std::array sanitizer_libraries = {
    named{"libasan.so", "AddressSanitizer"},     named{"libclang_rt.asan", "AddressSanitizer"},
    named{"libhwasan.so", "HWAddressSanitizer"}, named{"libclang_rt.hwasan", "HWAddressSanitizer"},
    named{"libtsan.so", "ThreadSanitizer"},      named{"libclang_rt.tsan", "ThreadSanitizer"},
    named{"liblsan.so", "LeakSanitizer"},        named{"libclang_rt.lsan", "LeakSanitizer"},
};

constexpr std::array sanitizer_symbols = {
    named{"__asan_init", "AddressSanitizer"}, named{"__hwasan_init", "HWAddressSanitizer"},
    named{"__tsan_init", "ThreadSanitizer"},  named{"__msan_init", "MemorySanitizer"},
    named{"__lsan_init", "LeakSanitizer"},
};

// A malloc in the program itself stands before every preloaded one; the prefixed ones are called by name.
constexpr std::array allocator_symbols = {
    named{"malloc", "malloc"},         named{"je_malloc", "jemalloc"},
    named{"_rjem_malloc", "jemalloc"}, named{"_rjem_je_malloc", "jemalloc"},
    named{"mi_malloc", "mimalloc"},    named{"tc_malloc", "tcmalloc"},
};

std::string read_interpreter(Elf* elf, const GElf_Phdr& header) {
  if (header.p_filesz == 0 || header.p_filesz > 4096) return {};
  const Elf_Data* data =
      elf_getdata_rawchunk(elf, static_cast<std::int64_t>(header.p_offset), header.p_filesz, ELF_T_BYTE);
  if (data == nullptr || data->d_buf == nullptr) return {};
  const auto* text = static_cast<const char*>(data->d_buf);
  return {text, strnlen(text, data->d_size)};
}

// `get` is libelf's function for entries of this kind; `use` returns false after the last that matters.
template <class Entry, class Use>
void for_each_entry(Elf_Scn* section, const GElf_Shdr& header, Entry* (*get)(Elf_Data*, int, Entry*), Use&& use) {
  Elf_Data* data = elf_getdata(section, nullptr);
  if (data == nullptr || header.sh_entsize == 0) return;
  const std::size_t entries = data->d_size / header.sh_entsize;
  for (std::size_t i = 0; i < entries; ++i) {
    Entry entry;
    if (get(data, static_cast<int>(i), &entry) == nullptr || !use(entry)) return;
  }
}

void read_dynamic(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, elf_traits& traits) {
  for_each_entry(section, header, gelf_getdyn, [&](const GElf_Dyn& entry) {
    const char* name = entry.d_tag == DT_NEEDED ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : nullptr;
    for (const auto& library : sanitizer_libraries) {
      if (name != nullptr && std::string_view(name).starts_with(library.symbol)) traits.sanitizer = library.name;
    }
    const char* own = entry.d_tag == DT_SONAME ? elf_strptr(elf, header.sh_link, entry.d_un.d_val) : nullptr;
    if (own != nullptr && std::string_view(own).starts_with("ld-linux")) traits.loader = true;
    return entry.d_tag != DT_NULL;
  });
}

void judge_symbol(std::string_view name, elf_traits& traits) {
  for (const auto& known : sanitizer_symbols) {
    if (name == known.symbol) traits.sanitizer = known.name;
  }
  for (const auto& known : allocator_symbols) {
    if (name == known.symbol && (traits.own_allocator.empty() || traits.own_allocator == "malloc")) {
      traits.own_allocator = known.name;
    }
  }
}

// Where main is, as far as symbols tell; else 0.
void read_symbols(Elf* elf, Elf_Scn* section, const GElf_Shdr& header, elf_traits& traits, std::uint64_t& main) {
  for_each_entry(section, header, gelf_getsym, [&](const GElf_Sym& symbol) {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0 || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) return true;
    const char* name = elf_strptr(elf, header.sh_link, symbol.st_name);
    const bool may_be_known = name != nullptr && std::strchr("_mjt", name[0]) != nullptr;
    if (may_be_known) judge_symbol(name, traits);
    if (may_be_known && std::strcmp(name, "main") == 0) main = symbol.st_value;
    return true;
  });
}

// What every program is linked with has tables, so that there are some says little. Half of the code without any, and
// main too where it is known, is more than assembly and padding.
bool tables_cover(Elf* elf, const GElf_Shdr& code, std::uint64_t main) {
  const std::unique_ptr<Dwarf_CFI, decltype(&dwarf_cfi_end)> tables(dwarf_getcfi_elf(elf), &dwarf_cfi_end);
  if (!tables) return false;
  const auto cover = [&](std::uint64_t address) {
    Dwarf_Frame* row = nullptr;
    const bool found = dwarf_cfi_addrframe(tables.get(), address, &row) == 0;
    std::free(row);
    return found;
  };
  if (main == 0 && code.sh_size < judged_code_bytes) return true;
  if (main != 0 && cover(main)) return true;
  std::uint64_t covered = 0;
  for (std::uint64_t i = 0; i < code_looked_at; ++i)
    covered += cover(code.sh_addr + code.sh_size / code_looked_at * i) ? 1 : 0;
  return covered >= code_looked_at / 2;
}

}  // namespace

const char* native_machine() {
  return native_elf_machine == EM_X86_64 ? "x86-64" : "64-bit ARM";
}

std::optional<elf_traits> read_elf_traits(int fd) {
  if (elf_version(EV_CURRENT) == EV_NONE) return std::nullopt;
  const elf_handle elf(elf_begin(fd, ELF_C_READ_MMAP, nullptr), &elf_end);
  GElf_Ehdr header;
  if (!elf || elf_kind(elf.get()) != ELF_K_ELF || gelf_getehdr(elf.get(), &header) == nullptr) return std::nullopt;

  elf_traits traits;
  const int elf_class = gelf_getclass(elf.get());
  traits.native = elf_class == ELFCLASS64 && header.e_machine == native_elf_machine;
  traits.machine = machine_name(header.e_machine, elf_class);
  traits.program = header.e_type == ET_EXEC || header.e_type == ET_DYN;
  if (!traits.native || !traits.program) return traits;

  std::size_t segments = 0;
  if (elf_getphdrnum(elf.get(), &segments) != 0) return std::nullopt;
  for (std::size_t i = 0; i < segments; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr) return std::nullopt;
    traits.unwind_tables = traits.unwind_tables || segment.p_type == PT_GNU_EH_FRAME;
    if (segment.p_type == PT_INTERP) traits.interpreter = read_interpreter(elf.get(), segment);
  }
  std::uint64_t main = 0;
  std::optional<GElf_Shdr> code;  // the section that the program begins in
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf.get(), section)) != nullptr;) {
    GElf_Shdr section_header;
    if (gelf_getshdr(section, &section_header) == nullptr) continue;
    if (section_header.sh_type == SHT_DYNAMIC) read_dynamic(elf.get(), section, section_header, traits);
    if (section_header.sh_type == SHT_DYNSYM || section_header.sh_type == SHT_SYMTAB) {
      read_symbols(elf.get(), section, section_header, traits, main);
    }
    if (header.e_entry >= section_header.sh_addr && header.e_entry - section_header.sh_addr < section_header.sh_size &&
        (section_header.sh_flags & SHF_EXECINSTR) != 0)
      code = section_header;
  }
  if (traits.unwind_tables && code) traits.unwind_tables = tables_cover(elf.get(), *code, main);
  return traits;
}

}  // namespace heapledger

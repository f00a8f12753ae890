// What Fedora's packages, and others, leave in a stripped program ("MiniDebugInfo"): the symbols of its functions, as
// an ELF file, compressed with xz, in the section .gnu_debugdata.
#pragma once

#include <libelf.h>

#include <memory>
#include <vector>

#include "tool/symbolize/elf_file.hpp"

namespace heapledger::symbols {

class mini_debug_info {
 public:
  // Null: the file has none, or one that is damaged, or expands to more memory than any real one.
  static std::unique_ptr<mini_debug_info> open(const elf_file& file);

  Elf* handle() const { return elf_.get(); }

 private:
  struct end_elf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  mini_debug_info() = default;

  std::vector<char> image_;  // before the handle that reads it
  std::unique_ptr<Elf, end_elf> elf_;
};

}  // namespace heapledger::symbols

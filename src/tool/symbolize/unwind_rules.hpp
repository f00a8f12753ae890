// Whether a module's unwind tables (.eh_frame, found by .eh_frame_hdr) say how to go on from an address to its caller,
// and whether it has one: the kernel enters a process at the entry point, and nobody called that.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <memory>

#include "tool/symbolize/elf_file.hpp"

namespace heapledger::symbols {

class unwind_rules {
 public:
  // `file` is the one with the code, and stays open meanwhile: a debug file has no tables.
  explicit unwind_rules(const elf_file& file);

  bool cover(std::uint64_t address) const;
  bool begins_process(std::uint64_t address) const;

 private:
  struct end {
    void operator()(Dwarf_CFI* tables) const { dwarf_cfi_end(tables); }
  };
  std::unique_ptr<Dwarf_CFI, end> tables_;
  std::uint64_t entry_point_;  // 0: the kernel does not start the file
};

}  // namespace heapledger::symbols

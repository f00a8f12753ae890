// Whether a module's unwind tables (.eh_frame, found by .eh_frame_hdr) say how to go on from an address to its caller.
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

 private:
  struct end {
    void operator()(Dwarf_CFI* tables) const { dwarf_cfi_end(tables); }
  };
  std::unique_ptr<Dwarf_CFI, end> tables_;
};

}  // namespace heapledger::symbols

#include "tool/symbolize/unwind_rules.hpp"

#include <cstdlib>

namespace heapledger::symbols {

unwind_rules::unwind_rules(const elf_file& file)
    : tables_(file.has_unwind_tables() ? dwarf_getcfi_elf(file.handle()) : nullptr) {}

bool unwind_rules::cover(std::uint64_t address) const {
  Dwarf_Frame* row = nullptr;
  const bool found = tables_ && dwarf_cfi_addrframe(tables_.get(), address, &row) == 0;
  std::free(row);
  return found;
}

}  // namespace heapledger::symbols

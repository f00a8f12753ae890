#include "tool/symbolize/unwind_rules.hpp"

#include <cstdlib>

namespace heapledger::symbols {
namespace {

constexpr std::uint64_t start_code_bytes = 128;  // the C library's are half as long

}  // namespace

unwind_rules::unwind_rules(const elf_file& file)
    : tables_(file.has_unwind_tables() ? dwarf_getcfi_elf(file.handle()) : nullptr), entry_point_(file.entry_point()) {}

bool unwind_rules::cover(std::uint64_t address) const {
  Dwarf_Frame* row = nullptr;
  const bool found = tables_ && dwarf_cfi_addrframe(tables_.get(), address, &row) == 0;
  std::free(row);
  return found;
}

// The loader's _start and _dl_start_user have no tables, and in a stripped one no names: they are what lies at the
// entry point, up to where tables begin.
bool unwind_rules::begins_process(std::uint64_t address) const {
  if (entry_point_ == 0 || address < entry_point_ || address - entry_point_ >= start_code_bytes) return false;
  for (std::uint64_t at = entry_point_; at <= address; ++at)
    if (cover(at)) return false;
  return true;
}

}  // namespace heapledger::symbols

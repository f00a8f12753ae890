// The functions of one compilation unit that cover given addresses, with what was inlined into them.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <span>
#include <vector>

namespace heapledger::symbols {

inline constexpr std::uint32_t no_scope = UINT32_MAX;

struct function_scope {
  Dwarf_Die die;                    // DW_TAG_subprogram, DW_TAG_inlined_subroutine or DW_TAG_entry_point
  std::uint32_t parent = no_scope;  // what it was inlined into; no_scope: a real function
};

struct function_scopes {
  std::vector<function_scope> scopes;
  std::vector<std::uint32_t> innermost;  // for each address, an index into scopes, or no_scope
};

// One walk over the unit for all addresses, which are sorted. Linear in the unit's size, whatever the unit holds.
function_scopes find_function_scopes(Dwarf_Die unit, std::span<const std::uint64_t> addresses);

// The entries that enclose `die`, outermost (the unit) first, without `die` itself.
std::vector<Dwarf_Die> enclosing_entries(Dwarf_Die die);

}  // namespace heapledger::symbols

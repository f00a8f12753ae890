#include "tool/symbolize/function_scopes.hpp"

#include <dwarf.h>

#include <algorithm>

namespace heapledger::symbols {
namespace {

constexpr int entry_depth_limit = 512;
constexpr std::size_t range_budget = 10'000'000;  // of one unit: hostile entries may share one huge list

class walker {
 public:
  walker(std::span<const std::uint64_t> addresses, function_scopes& found, bool thorough)
      : addresses_(addresses), found_(found), thorough_(thorough) {}

  void children(Dwarf_Die& entry, std::uint32_t parent, int depth) {
    Dwarf_Die child;
    if (depth > entry_depth_limit || dwarf_child(&entry, &child) != 0) return;
    for (;;) {
      // Entries are met in the order of the file. A sibling reference that leads backwards would never end.
      if (child.addr <= last_) return;
      last_ = child.addr;
      visit(child, parent, depth);
      Dwarf_Die next;
      if (dwarf_siblingof(&child, &next) != 0) return;
      child = next;
    }
  }

 private:
  void visit(Dwarf_Die& entry, std::uint32_t parent, int depth) {
    switch (dwarf_tag(&entry)) {
      case DW_TAG_subprogram:
      case DW_TAG_entry_point:
        if (const auto scope = cover(entry, no_scope); scope != no_scope) return children(entry, scope, depth + 1);
        if (thorough_) children(entry, no_scope, depth + 1);
        return;
      case DW_TAG_inlined_subroutine:
        if (const auto scope = cover(entry, parent); scope != no_scope) return children(entry, scope, depth + 1);
        if (thorough_) children(entry, parent, depth + 1);
        return;
      case DW_TAG_lexical_block:
      case DW_TAG_try_block:
      case DW_TAG_catch_block:
      case DW_TAG_with_stmt:
      case DW_TAG_common_block:
      case DW_TAG_namespace:
      case DW_TAG_module:
        return children(entry, parent, depth + 1);
      case DW_TAG_class_type:
      case DW_TAG_structure_type:
      case DW_TAG_union_type:
      case DW_TAG_interface_type:
        if (thorough_) children(entry, no_scope, depth + 1);
        return;
      default:
        return;
    }
  }

  // Adds a scope when the entry covers any of the addresses. Children come later and take over what they cover.
  std::uint32_t cover(Dwarf_Die& entry, std::uint32_t parent) {
    std::uint32_t scope = no_scope;
    Dwarf_Addr base = 0;
    Dwarf_Addr begin = 0;
    Dwarf_Addr end = 0;
    std::ptrdiff_t offset = 0;
    while (ranges_ < range_budget && (offset = dwarf_ranges(&entry, offset, &base, &begin, &end)) > 0) {
      ++ranges_;
      const auto first = std::lower_bound(addresses_.begin(), addresses_.end(), begin);
      for (auto each = first; each != addresses_.end() && *each < end && ranges_ < range_budget; ++each, ++ranges_) {
        if (scope == no_scope) {
          scope = static_cast<std::uint32_t>(found_.scopes.size());
          found_.scopes.push_back({entry, parent});
        }
        found_.innermost[static_cast<std::size_t>(each - addresses_.begin())] = scope;
      }
    }
    return scope;
  }

  std::span<const std::uint64_t> addresses_;
  function_scopes& found_;
  bool thorough_;
  const void* last_ = nullptr;
  std::size_t ranges_ = 0;
};

}  // namespace

function_scopes find_function_scopes(Dwarf_Die unit, std::span<const std::uint64_t> addresses) {
  function_scopes found;
  found.innermost.assign(addresses.size(), no_scope);
  walker(addresses, found, false).children(unit, no_scope, 0);
  if (std::find(found.innermost.begin(), found.innermost.end(), no_scope) == found.innermost.end()) return found;

  // What is left may be a function inside a type inside another function. Such entries are rare, types are many.
  function_scopes thorough;
  thorough.innermost.assign(addresses.size(), no_scope);
  walker(addresses, thorough, true).children(unit, no_scope, 0);
  return thorough;
}

std::vector<Dwarf_Die> enclosing_entries(Dwarf_Die die) {
  std::vector<Dwarf_Die> path;
  Dwarf_Die entry;
  if (dwarf_diecu(&die, &entry, nullptr, nullptr) == nullptr) return path;
  for (int depth = 0; depth < entry_depth_limit; ++depth) {
    path.push_back(entry);
    Dwarf_Die child;
    if (dwarf_child(&entry, &child) != 0) return {};
    for (;;) {  // the last of the siblings that does not begin behind the entry is it, or holds it
      if (child.addr == die.addr) return path;
      Dwarf_Die next;
      if (dwarf_siblingof(&child, &next) != 0 || next.addr > die.addr || next.addr <= child.addr) break;
      child = next;
    }
    if (child.addr > die.addr) return {};
    entry = child;
  }
  return {};
}

}  // namespace heapledger::symbols

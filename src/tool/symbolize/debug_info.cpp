#include "tool/symbolize/debug_info.hpp"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

#include <algorithm>

#include "tool/symbolize/companions.hpp"
#include "tool/symbolize/cut_off_guard.hpp"
#include "tool/symbolize/debug_files.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::size_t range_budget = 20'000'000;  // of one file: hostile units may share one huge list

bool inside(const std::vector<address_range>& ranges, std::uint64_t address) {
  return ranges.empty() || std::any_of(ranges.begin(), ranges.end(), [address](const address_range& range) {
           return address >= range.begin && address < range.end;
         });
}

}  // namespace

std::unique_ptr<debug_info> debug_info::open(const elf_file& file, const std::vector<address_range>& executable,
                                             const debug_places& debug) {
  if (!file.has_debug_info()) return nullptr;
  std::unique_ptr<debug_info> info(new debug_info);
  info->dwarf_.reset(dwarf_begin_elf(file.handle(), DWARF_C_READ, nullptr));
  if (!info->dwarf_) return nullptr;
  info->add_alternate(file, debug);
  info->index_units(file, executable);
  if (info->units_.empty() && !info->alternate_missing_) return nullptr;
  return info;
}

void debug_info::add_alternate(const elf_file& file, const debug_places& debug) {
  const char* name = nullptr;
  const void* id = nullptr;
  const auto size = dwelf_dwarf_gnu_debugaltlink(dwarf_.get(), &name, &id);
  if (size <= 0 || name == nullptr) return;
  alternate_file_ = find_alternate_file(file.path(), name, to_hex(id, static_cast<std::size_t>(size)), debug);
  if (alternate_file_) alternate_.reset(dwarf_begin_elf(alternate_file_->handle(), DWARF_C_READ, nullptr));
  dwarf_setalt(dwarf_.get(), alternate_ ? alternate_.get() : no_alternate());
  alternate_missing_ = !alternate_;
}

void debug_info::index_units(const elf_file& file, const std::vector<address_range>& executable) {
  Dwarf_CU* current = nullptr;
  Dwarf_CU* next = nullptr;
  Dwarf_Half version = 0;
  std::uint8_t type = 0;
  Dwarf_Die die;
  while (dwarf_get_units(dwarf_.get(), current, &next, &version, &type, &die, nullptr) == 0) {
    current = next;
    if (type != DW_UT_compile && type != DW_UT_skeleton) continue;
    const auto split = type == DW_UT_skeleton ? split_half(file, current, die) : std::nullopt;
    split_missing_ = split_missing_ || (type == DW_UT_skeleton && !split);
    units_.push_back({die, split.value_or(die)});
    add_ranges(die, units_.size() - 1, executable);
    if (ranges_seen_ >= range_budget || file_was_cut_off()) break;
  }
  std::sort(ranges_.begin(), ranges_.end(), [](const unit_range& a, const unit_range& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.unit < b.unit;
  });
  reach_.build(ranges_);
}

void debug_info::add_ranges(Dwarf_Die& die, std::size_t unit, const std::vector<address_range>& executable) {
  Dwarf_Addr base = 0;
  Dwarf_Addr begin = 0;
  Dwarf_Addr end = 0;
  std::ptrdiff_t offset = 0;
  for (; ranges_seen_ < range_budget; ++ranges_seen_) {
    offset = dwarf_ranges(&die, offset, &base, &begin, &end);
    if (offset <= 0) return;
    if (begin < end && inside(executable, begin)) ranges_.push_back({begin, end, unit});
  }
}

std::optional<std::size_t> debug_info::find(std::uint64_t address) const {
  const unit_range* best = nullptr;
  reach_.search(ranges_, address, [&](const unit_range& range) {
    if (range.end > address && (best == nullptr || range.end - range.begin < best->end - best->begin)) best = &range;
    return true;
  });
  if (best != nullptr) return best->unit;
  return std::nullopt;
}

}  // namespace heapledger::symbols

#include "tool/symbolize/resolver.hpp"

#include <dwarf.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tool/symbolize/cut_off_guard.hpp"
#include "tool/symbolize/function_names.hpp"
#include "tool/symbolize/function_scopes.hpp"
#include "tool/symbolize/line_table.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::size_t frames_limit = 512;  // of one address

std::uint64_t number_attribute(Dwarf_Die& die, unsigned name) {
  Dwarf_Attribute attribute;
  Dwarf_Word value = 0;
  return dwarf_attr(&die, name, &attribute) != nullptr && dwarf_formudata(&attribute, &value) == 0 ? value : 0;
}

std::uint32_t to_line(std::uint64_t value) {
  return value <= std::numeric_limits<std::int32_t>::max() ? static_cast<std::uint32_t>(value) : 0;
}

}  // namespace

resolver::resolver(module_files files, const debug_places& debug) : files_(std::move(files)) {
  if (files_.main && !has_symbol_table()) mini_ = mini_debug_info::open(*files_.main);
  if (files_.main) symbols_.add(files_.main->handle());
  if (files_.debug) symbols_.add(files_.debug->handle());
  if (mini_) symbols_.add(mini_->handle());
  symbols_.finish();
  const auto* with_code = files_.main ? files_.main.get() : files_.debug.get();
  if (with_code == nullptr) return;
  for (const auto* file : {files_.main.get(), files_.debug.get()})
    if (file != nullptr && !info_) info_ = debug_info::open(*file, with_code->executable_ranges(), debug);
}

bool resolver::has_symbol_table() const {
  return mini_ || (files_.main && files_.main->has_symbol_table()) ||
         (files_.debug && files_.debug->has_symbol_table());
}

bool resolver::has_unreadable_debug_info() const {
  return !info_ && ((files_.main && files_.main->has_debug_info()) || (files_.debug && files_.debug->has_debug_info()));
}

bool resolver::is_as_it_was() const {
  return (!files_.main || files_.main->is_as_it_was()) && (!files_.debug || files_.debug->is_as_it_was()) &&
         (!info_ || info_->alternate_is_as_it_was());
}

void resolver::resolve(std::span<const std::uint64_t> addresses, const receiver& receive) const {
  struct wanted {
    std::size_t unit;
    std::size_t index;
  };
  std::vector<wanted> in_units;
  function_names names(symbols_);
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (const auto unit = info_ ? info_->find(addresses[i]) : std::nullopt) {
      in_units.push_back({*unit, i});
    } else if (const auto& name = names.symbol(addresses[i]); !name.empty()) {
      const resolved_frame frame{name, {}, 0};
      receive(i, {&frame, 1});
    }
  }
  std::stable_sort(in_units.begin(), in_units.end(), [](const wanted& a, const wanted& b) { return a.unit < b.unit; });

  std::vector<std::uint64_t> unit_addresses;
  std::vector<std::size_t> unit_indices;
  for (std::size_t i = 0; i < in_units.size() && !file_was_cut_off(); ++i) {
    unit_addresses.push_back(addresses[in_units[i].index]);
    unit_indices.push_back(in_units[i].index);
    if (i + 1 < in_units.size() && in_units[i + 1].unit == in_units[i].unit) continue;
    resolve_unit(info_->at(in_units[i].unit), unit_addresses, unit_indices, names, receive);
    unit_addresses.clear();
    unit_indices.clear();
  }
}

void resolver::resolve_unit(const unit& owner, std::span<const std::uint64_t> addresses,
                            std::span<const std::size_t> indices, function_names& names,
                            const receiver& receive) const {
  const line_table lines(owner.lines);
  const line_table call_lines(owner.functions);
  auto found = find_function_scopes(owner.functions, addresses);
  std::vector<resolved_frame> frames;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const auto here = lines.find(addresses[i]);
    resolved_frame frame{{}, here.file, here.line};
    frames.clear();
    for (auto scope = found.innermost[i]; scope != no_scope && frames.size() < frames_limit;) {
      auto& function = found.scopes[scope];
      const bool inlined = dwarf_tag(&function.die) == DW_TAG_inlined_subroutine;
      frame.function = inlined ? names.inlined(function.die) : names.real(function.die, addresses[i]);
      frames.push_back(frame);
      if (!inlined) break;
      frame.file = call_lines.file(number_attribute(function.die, DW_AT_call_file));
      frame.line = to_line(number_attribute(function.die, DW_AT_call_line));
      scope = function.parent;
    }
    if (frames.empty()) {
      frame.function = names.symbol(addresses[i]);
      if (frame.function.empty() && frame.file.empty()) continue;
      frames.push_back(frame);
    }
    receive(indices[i], frames);
  }
}

}  // namespace heapledger::symbols

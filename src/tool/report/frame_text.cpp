#include "tool/report/frame_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::report {

std::string frame_name(const profile& p, const analyse::frame_ref& frame, std::size_t width) {
  if (frame.location == none) return "(no stack)";
  if (const auto function = analyse::function_name(p, frame); !function.empty()) {
    return short_function(function, width);
  }
  return short_address(analyse::address_name(p, p.locations[frame.location]), width);
}

std::string frame_place(const profile& p, const analyse::frame_ref& frame, std::span<const std::uint32_t> lines,
                        bool more_lines, std::size_t width) {
  if (frame.location == none) return {};
  const auto file = analyse::file_name(p, frame);
  if (file.empty()) {
    const std::uint32_t module = analyse::module_index(p, frame);
    if (module == none || analyse::function_name(p, frame).empty()) return {};
    return "in " + cut_right(terminal_text(file_part(p.modules[module].path)), width > 3 ? width - 3 : 0);
  }
  std::string suffix;
  for (const std::uint32_t line : lines) suffix += fmt::format("{}{}", suffix.empty() ? ":" : ",", line);
  if (more_lines) suffix += ",...";
  return short_path(file, width > suffix.size() ? width - suffix.size() : 0) + suffix;
}

std::string frame_line(const profile& p, std::string_view prefix, const analyse::caller& caller, std::size_t width,
                       std::string_view words) {
  const std::string note = caller.cycle == 1 ? fmt::format(" (x{}){}", caller.times, words) : std::string(words);
  const std::size_t place_width = std::clamp<std::size_t>(width / 3, 26, 44);
  const std::string place = frame_place(p, caller.frame, caller.lines, caller.more_lines, place_width);
  const std::size_t used = columns(prefix) + columns(note);
  const auto named = [&](std::size_t room) {
    return fmt::format("{}{}{}", prefix, frame_name(p, caller.frame, room), note);
  };
  if (place.empty()) return named(width - std::min(used, width));
  const std::size_t column = width - place_width;  // where places begin
  const std::size_t room = column > used + 2 ? column - used - 2 : 0;
  return padded(named(room), column) + place;
}

}  // namespace heapledger::report

#include "tool/export/names.hpp"

#include <fmt/format.h>

#include "tool/report/command_text.hpp"
#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::exports {

safe_names::safe_names(const profile& p) : profile_(p), nameless_(p.locations.size()) {
  strings_.reserve(p.strings.size());
  for (const auto& text : p.strings) strings_.push_back(report::terminal_text(text));
  modules_.reserve(p.modules.size());
  for (const auto& module : p.modules) modules_.push_back(report::terminal_text(module.path));
}

const std::string& safe_names::function(const analyse::frame_ref& frame) {
  if (frame.symbol != none) {
    const std::string& name = text(profile_.frames[frame.symbol].function);
    if (!name.empty()) return name;
  }
  std::string& name = nameless_[frame.location];
  if (name.empty()) {
    const location& place = profile_.locations[frame.location];
    name = place.module == none ? fmt::format("0x{:x}", place.address)
                                : fmt::format("{}+0x{:x}", report::file_part(modules_[place.module]), place.address);
  }
  return name;
}

const std::string& safe_names::file(const analyse::frame_ref& frame) const {
  return frame.symbol == none ? empty_ : text(profile_.frames[frame.symbol].file);
}

std::string scope_frame(std::string_view name) {
  return "scope " + report::terminal_text(name);
}

std::string scope_path(const std::vector<std::string>& scope) {
  std::string path;
  for (const auto& name : scope) path += (path.empty() ? "" : " / ") + report::terminal_text(name);
  return path;
}

std::string command_line(const process_info& process) {
  return report::command_text(process.command, process.exe, "unknown");
}

void frames_of(const profile& p, std::uint32_t node, std::vector<analyse::frame_ref>& frames) {
  frames.clear();
  analyse::walk_stack(p, node, [&](const analyse::frame_ref& frame) {
    frames.push_back(frame);
    return true;
  });
}

}  // namespace heapledger::exports

#include "tool/report/json_frames.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/report/json_text.hpp"

namespace heapledger::report {

namespace {

std::size_t frames_at(const location& place) {
  return std::max<std::size_t>(place.symbols.size(), 1);
}

}  // namespace

json_frames::json_frames(const profile& p) : p_(p), rendered_(p.locations.size()) {
  for (const module_info& module : p.modules) module_names_.push_back(json_string(module.path));
}

json_frames::list json_frames::of(std::uint32_t node, std::size_t most) {
  list result;
  for (; node != 0; node = p_.nodes[node].parent) {
    const std::uint32_t index = p_.nodes[node].location;
    if (index == none) continue;
    const location& place = p_.locations[index];
    const std::size_t frames = frames_at(place);
    const std::size_t kept = std::min(frames, most);
    if (kept != 0 && !result.text.empty()) result.text += ',';
    if (kept != 0) result.text += kept == frames ? rendered(index) : render(place, kept);
    most -= kept;
    result.left_out += frames - kept;
  }
  return result;
}

const std::string& json_frames::rendered(std::uint32_t index) {
  std::string& text = rendered_[index];
  if (text.empty()) text = render(p_.locations[index], SIZE_MAX);
  return text;
}

std::string json_frames::render(const location& place, std::size_t most) const {
  std::string text;
  const std::size_t frames = frames_at(place);
  for (std::size_t i = 0; i < std::min(frames, most); ++i) {
    if (i != 0) text += ',';
    text += fields(place, i < place.symbols.size() ? &p_.frames[place.symbols[i]] : nullptr, i + 1 < frames);
  }
  return text;
}

std::string json_frames::one(const analyse::frame_ref& frame) const {
  return fields(p_.locations[frame.location], frame.symbol != none ? &p_.frames[frame.symbol] : nullptr, frame.inlined);
}

std::string json_frames::fields(const location& place, const frame_info* frame, bool inlined) const {
  std::string text = "{";
  if (frame != nullptr) text += symbol_fields(*frame);
  if (place.module != none) text += "\"module\":" + module_names_[place.module] + ",";
  return text + fmt::format("\"address\":{},\"inlined\":{}}}", json_address(place.address), inlined);
}

std::string json_frames::symbol_fields(const frame_info& frame) const {
  std::string text;
  if (frame.function != none) text += "\"function\":" + json_string(p_.strings[frame.function]) + ",";
  if (frame.file != none) text += "\"file\":" + json_string(p_.strings[frame.file]) + ",";
  if (frame.line != 0) text += fmt::format("\"line\":{},", frame.line);
  return text;
}

}  // namespace heapledger::report

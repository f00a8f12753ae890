#include "tool/report/places_json.hpp"

#include <fmt/format.h>

#include "tool/analyse/place_timeline.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t most_places = 20;

}  // namespace

std::string places_json(const profile& p, json_frames& frames, const std::vector<bool>& left_out) {
  const analyse::place_timeline timeline(p);
  if (timeline.times_ns().empty()) return {};
  std::vector<bool> unknown(p.stacks.size(), true);
  for (const auto& moment : p.stack_timeline) unknown[moment.stack] = !left_out.empty() && left_out[moment.stack];
  analyse::machinery machinery(p);
  const auto sites = analyse::find_sites(p, machinery, unknown);
  std::string text;
  for (const auto& [site, live_bytes] : analyse::highest_places(timeline, sites, most_places)) {
    text += text.empty() ? "{" : ",\n{";
    if (const auto& frame = sites[site].frame; frame.location != none)
      text += fmt::format("\"frame\":{},", frames.one(frame));
    text += "\"timeline\":[";
    for (std::size_t i = 0; i < live_bytes.size(); ++i)
      text += fmt::format("{}{{\"time\":{},\"live_bytes\":{}}}", i == 0 ? "" : ",",
                          json_seconds(timeline.times_ns()[i]), live_bytes[i]);
    text += "]}";
  }
  return text;
}

}  // namespace heapledger::report

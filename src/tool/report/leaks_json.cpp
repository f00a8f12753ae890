#include "tool/report/leaks_json.hpp"

#include <fmt/format.h>

#include <utility>

#include "tool/analyse/leak_place.hpp"
#include "tool/report/json_frames.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::report {
namespace {

std::string entry_text(const profile& p, const leak_entry& leak, json_frames& frames) {
  std::string text = leak.pool ? fmt::format(R"({{"pool":{})", json_string(p.pools[*leak.pool].name))
                               : fmt::format(R"({{"stack":{})", leak.stack);
  text += fmt::format(R"(,"verdict":{},"witnesses":[)", json_string(leak.verdict));
  const char* separator = "";
  for (const auto& witness : leak.witnesses) text += std::exchange(separator, ",") + json_string(witness);
  text += fmt::format(R"(],"bytes":{},"bytes_low":{},"bytes_high":{},"bytes_per_hour":{})", leak.bytes, leak.bytes_low,
                      leak.bytes_high, leak.bytes_per_hour);
  text += fmt::format(R"(,"bytes_per_hour_low":{},"bytes_per_hour_high":{},"blocks":{})", leak.bytes_per_hour_low,
                      leak.bytes_per_hour_high, leak.blocks);
  if (leak.most_bytes != 0 || leak.oldest_age_ns != 0)
    text += fmt::format(R"(,"oldest_age":{},"block_bytes_from":{},"block_bytes_to":{})",
                        json_seconds(leak.oldest_age_ns), leak.least_bytes, leak.most_bytes);
  text += fmt::format(R"(,"sampled":{},"untouched":{},"growth_stopped":{},"frames":[)", leak.sampled, leak.untouched,
                      leak.growth_stopped);
  if (const auto node = analyse::place_of(p, leak)) text += frames.of(*node);
  return text + "]}";
}

}  // namespace

std::string leaks_json(const profile& p, std::span<const leak_entry> entries, std::uint64_t suppressed) {
  const leak_info none_watched;
  const leak_info& watch = p.leaks ? *p.leaks : none_watched;
  json_frames frames(p);
  std::string text = fmt::format(R"({{"format":"heapledger-leaks","version":1,"pid":{},"exe":{},)", p.process.pid,
                                 json_string(p.process.exe));
  text += fmt::format("\"watching_since\":{},\"duration\":{},\n\"leaks\":[", json_seconds(watch.since_realtime_ns),
                      json_seconds(watch.duration_ns));
  const char* separator = "";
  for (const auto& leak : entries) text += std::exchange(separator, ",\n") + entry_text(p, leak, frames);
  text += fmt::format("],\n\"acquitted\":{},\"watched\":{},\"taken_back\":{},\"suppressed\":{},\"losses\":{{",
                      watch.acquitted, watch.watched, watch.taken_back, suppressed);
  separator = "";
  for (const auto& [name, count] : watch.losses)
    text += fmt::format("{}{}:{}", std::exchange(separator, ","), json_string(name), count);
  text += "}";
  if (watch.reachability) {
    const auto& r = *watch.reachability;
    text += fmt::format(R"(,"reachability":{{"blocks":{},"unreachable":{},"stopped":{},"searched_bytes":{})", r.blocks,
                        r.unreachable, json_seconds(r.stopped_ns), r.searched_bytes);
    if (!r.obstacle.empty()) text += ",\"obstacle\":" + json_string(r.obstacle);
    text += "}";
  }
  const std::string_view obstacle = p.leaks ? std::string_view(watch.obstacle) : "the profile has no leak watch";
  if (!obstacle.empty()) text += fmt::format(",\"obstacle\":{}", json_string(obstacle));
  return text + "}\n";
}

}  // namespace heapledger::report

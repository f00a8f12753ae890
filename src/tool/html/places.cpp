#include "tool/html/places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "tool/analyse/groups.hpp"
#include "tool/analyse/place_timeline.hpp"
#include "tool/report/distinct_names.hpp"
#include "tool/report/frame_text.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::html {
namespace {

std::vector<analyse::place_line> worth_a_line(const analyse::place_timeline& timeline,
                                              const std::vector<analyse::site>& sites) {
  constexpr std::size_t most_places = 8;
  constexpr std::int64_t least_share = 100;  // of the highest, one part in so many
  auto places = analyse::highest_places(timeline, sites, most_places);
  const auto highest = [](const analyse::place_line& line) {
    return *std::max_element(line.live_bytes.begin(), line.live_bytes.end());
  };
  while (!places.empty() && highest(places.back()) < highest(places.front()) / least_share) places.pop_back();
  return places;
}

}  // namespace

std::string places_over_time(const profile& p) {
  constexpr std::size_t name_columns = 40;
  const analyse::place_timeline timeline(p);
  if (timeline.times_ns().empty()) return R"({"time":[],"lines":[]})";
  analyse::machinery machinery(p);
  const auto sites = analyse::find_sites(p, machinery);
  const auto places = worth_a_line(timeline, sites);

  std::vector<std::string> names, files;
  std::vector<report::shown_name> looks;
  for (const auto& [site, live_bytes] : places) {
    const auto& frame = sites[site].frame;
    const std::uint32_t line = frame.location == none ? 0 : analyse::line_number(p, frame);
    names.push_back(frame.location == none ? "(without a stack)" : report::frame_name(p, frame, name_columns));
    files.push_back(report::frame_place(p, frame, {&line, line == 0 ? 0U : 1U}, false, SIZE_MAX));
    looks.push_back({names.back() + " " + files.back(), analyse::function_name(p, frame)});
  }
  // Two places of one function are told apart by their lines, two instances of a template by what they are of.
  const auto words = report::distinguishing_words(looks);
  std::string times, lines;
  for (const auto time_ns : timeline.times_ns()) times += (times.empty() ? "" : ",") + report::json_seconds(time_ns);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const bool is_alone = std::count(names.begin(), names.end(), names[i]) == 1;
    const std::string more = is_alone ? "" : words[i].empty() ? " " + files[i] : words[i];
    lines += fmt::format("{}{{\"name\":{},\"place\":{},\"live\":[{}]}}", i == 0 ? "" : ",",
                         report::json_string(names[i] + more), report::json_string(files[i]),
                         fmt::join(places[i].live_bytes, ","));
  }
  return fmt::format(R"({{"time":[{}],"lines":[{}]}})", times, lines);
}

}  // namespace heapledger::html

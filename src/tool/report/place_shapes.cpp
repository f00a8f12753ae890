#include "tool/report/place_shapes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/analyse/timeline.hpp"
#include "tool/report/bars.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t shape_columns = 20;
constexpr std::size_t gap = 2;

}  // namespace

std::string place_shapes::legend() const {
  return fmt::format("  (on the right: what each held over {}, as high as its own highest)",
                     seconds_text(p_.process.duration_ns));
}

std::string place_shapes::beside(const page& page, std::string line, const analyse::site& of) const {
  const std::size_t used = columns(line);
  if (used + gap + shape_columns > page.width()) return line;
  const auto live_bytes = timeline_.live_bytes(of.stacks);
  std::vector<timeline_point> points;
  for (std::size_t i = 0; i < live_bytes.size(); ++i)
    points.push_back({.time_ns = timeline_.times_ns()[i], .live_bytes = live_bytes[i]});
  const auto heights = analyse::live_columns(points, p_.process.duration_ns, shape_columns);
  const auto highest = heights.empty() ? 0 : *std::max_element(heights.begin(), heights.end());
  if (highest <= 0) return line;
  line.append(page.width() - shape_columns - used, ' ');
  return line + bars(heights, highest, page.unicode());
}

}  // namespace heapledger::report

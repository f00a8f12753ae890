// massif.out: the timeline as snapshots, with trees for the peak, the end, and moments between.
#include <algorithm>
#include <map>
#include <vector>

#include "tool/export/format.hpp"
#include "tool/export/massif_tree.hpp"
#include "tool/export/names.hpp"
#include "tool/export/text_out.hpp"

namespace heapledger::exports {
namespace {

constexpr std::int64_t millisecond_ns = 1'000'000;
constexpr std::size_t most_points = 80;  // massif takes a hundred snapshots
constexpr std::size_t most_trees = 18;   // beside those for the peak and the end

struct snapshot {
  std::int64_t time_ns = 0;
  std::int64_t live_bytes = 0;
  const char* tree = "empty";
};

// Points of a long timeline are thinned out; the highest of each group stays. None is above the peak, which is known
// better than they are.
std::vector<snapshot> points_of(const profile& p, std::int64_t peak_bytes) {
  std::vector<snapshot> kept;
  const std::size_t group = p.timeline.size() / most_points + 1;
  for (std::size_t i = 0; i < p.timeline.size(); i += group) {
    const auto end = p.timeline.begin() + static_cast<std::ptrdiff_t>(std::min(i + group, p.timeline.size()));
    const auto highest =
        std::max_element(p.timeline.begin() + static_cast<std::ptrdiff_t>(i), end,
                         [](const timeline_point& a, const timeline_point& b) { return a.live_bytes < b.live_bytes; });
    kept.push_back({highest->time_ns, std::clamp<std::int64_t>(highest->live_bytes, 0, peak_bytes)});
  }
  return kept;
}

// Moments of which stacks are known and the total as well, evenly apart. The total was read a little before the stacks,
// while the program ran: a tree is never larger than its snapshot.
std::vector<snapshot> moments_of(const profile& p, std::int64_t peak_bytes) {
  std::map<std::int64_t, std::int64_t> of_stacks;
  for (const auto& row : p.stack_timeline) of_stacks[row.time_ns] += std::max<std::int64_t>(row.live_bytes, 0);
  std::vector<snapshot> known;
  auto point = p.timeline.begin();
  for (const auto& [time_ns, held] : of_stacks) {
    while (point != p.timeline.end() && point->time_ns < time_ns) ++point;
    const bool has_own_tree = time_ns == p.peak.time_ns || time_ns == p.process.duration_ns;
    if (point == p.timeline.end() || point->time_ns != time_ns || has_own_tree) continue;
    const auto total = std::clamp<std::int64_t>(point->live_bytes, 0, peak_bytes);
    known.push_back({time_ns, std::max(total, held), "detailed"});
  }
  const std::size_t step = known.size() / most_trees + 1;
  std::vector<snapshot> kept;
  for (std::size_t i = step / 2; i < known.size(); i += step) kept.push_back(known[i]);
  return kept;
}

}  // namespace

notes write_massif(const profile& p, std::optional<analyse::measure>, const sink& out) {
  const std::int64_t peak_bytes = massif_total(p, analyse::measure::peak);
  const std::int64_t end_bytes = massif_total(p, analyse::measure::live);
  std::vector<snapshot> snapshots = points_of(p, peak_bytes);
  for (const auto& moment : moments_of(p, peak_bytes)) {
    std::erase_if(snapshots, [&](const snapshot& point) { return point.time_ns == moment.time_ns; });
    snapshots.push_back(moment);
  }
  std::int64_t last = 0;
  for (const auto& point : snapshots) last = std::max(last, point.time_ns);
  snapshots.push_back({p.peak.time_ns.value_or(p.process.duration_ns), peak_bytes, "peak"});
  std::stable_sort(snapshots.begin(), snapshots.end(),
                   [](const snapshot& a, const snapshot& b) { return a.time_ns < b.time_ns; });
  last = std::max({last, p.process.duration_ns, snapshots.back().time_ns});
  snapshots.push_back({last, end_bytes, "detailed"});

  text_out text(out);
  safe_names names(p);
  text.add("desc: heapledger export --format massif\ncmd: {}\ntime_unit: ms\n", massif_text(command_line(p.process)));
  for (std::size_t i = 0; i < snapshots.size(); ++i) {
    const snapshot& taken = snapshots[i];
    text.add("#-----------\nsnapshot={}\n#-----------\ntime={}\nmem_heap_B={}\nmem_heap_extra_B=0\nmem_stacks_B=0\n", i,
             taken.time_ns / millisecond_ns, taken.live_bytes);
    text.add("heap_tree={}\n", taken.tree);
    const std::string_view tree = taken.tree;
    if (tree == "peak") write_massif_tree(p, names, analyse::measure::peak, text);
    if (i + 1 == snapshots.size())
      write_massif_tree(p, names, analyse::measure::live, text);
    else if (tree == "detailed")
      write_massif_tree_at(p, names, taken.time_ns, taken.live_bytes, text);
  }
  text.flush();
  return {};
}

}  // namespace heapledger::exports

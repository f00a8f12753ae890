#include "tool/report/site_section.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "tool/analyse/caller_tree.hpp"
#include "tool/analyse/lifetimes.hpp"
#include "tool/report/caller_text.hpp"
#include "tool/report/distinct_names.hpp"
#include "tool/report/frame_text.hpp"
#include "tool/report/place_shapes.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

using analyse::measure;
using analyse::value_of;

constexpr std::size_t sites_shown_in_full = 3;
constexpr double share_shown_in_full = 0.10;
constexpr double share_worth_listing = 0.005;
constexpr double share_of_largest = 0.10;  // where all are small
constexpr std::size_t depth_that_matters = 8;
constexpr std::size_t depth_of_an_aside = 5;
constexpr const char* margin = "     ";

std::string average(std::uint64_t bytes, std::uint64_t blocks) {
  return blocks == 0 ? "0 B" : bytes_text(static_cast<std::int64_t>(bytes / blocks));
}

std::string share_of_allocations(std::uint64_t part, const counters& count) {
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(count.allocations));
}

std::string temporary_share(const counters& count) {
  if (count.temporaries == 0) return "none temporary";
  return share_of_allocations(count.temporaries, count) + " temporary";
}

// What grows a little at a time is made anew as often, and is as temporary: another mistake, with another remedy.
std::string resized_share(const counters& count) {
  constexpr std::uint64_t one_in_worth_a_word = 10;
  if (count.reallocations == 0 || count.reallocations < count.allocations / one_in_worth_a_word) return {};
  return fmt::format(", {} by realloc", share_of_allocations(count.reallocations, count));
}

std::string lived(const counters& count) {
  const auto mean_ns = analyse::mean_life_ns(count.life);
  return mean_ns ? fmt::format(", lived {}", life_text(*mean_ns)) : std::string();
}

std::string aged(const counters& count, std::int64_t end_ns) {
  const auto mean_ns = analyse::mean_age_ns(count.life, end_ns);
  return mean_ns ? fmt::format(", {} old", life_text(*mean_ns)) : std::string();
}

std::string amount(const profile& p, const counters& count, measure by) {
  const std::string calls = counted(count.allocations, "allocation", "allocations");
  const std::string each = average(count.allocated_bytes, count.allocations);
  switch (by) {
    case measure::live:
      if (count.live_blocks() <= 0)  // in a window: fewer blocks, and larger
        return fmt::format("{} in {} blocks", bytes_text(count.live_bytes()), signed_count_text(count.live_blocks()));
      return fmt::format(
          "{} in {} block{} of {}{}", bytes_text(count.live_bytes()), signed_count_text(count.live_blocks()),
          count.live_blocks() == 1 ? "" : "s",
          average(static_cast<std::uint64_t>(count.live_bytes()), static_cast<std::uint64_t>(count.live_blocks())),
          aged(count, p.process.duration_ns));
    case measure::peak:
      return fmt::format("{} at the peak; {} of {} in all", bytes_text(count.peak_bytes), calls, each);
    case measure::allocated:
      return fmt::format("{} in {} of {}, {}{}{}", bytes_text(count.allocated_bytes), calls, each,
                         temporary_share(count), resized_share(count), lived(count));
    case measure::count:
      return fmt::format("{} of {}, {}{}{}", calls, each, temporary_share(count), resized_share(count), lived(count));
    case measure::temporary:
      return fmt::format("{} temporary of {} of {}{}", count_text(count.temporaries), calls, each,
                         resized_share(count));
  }
  return {};
}

// What the shares are of. A block that was overwritten so that its stack is lost is freed without one: then the places
// have more than there is.
std::int64_t shared_by_sites(const site_list& list, measure by) {
  std::int64_t sum = 0;
  for (const auto& site : list.sites()) sum += std::max<std::int64_t>(value_of(site.count, by), 0);
  return std::max(sum, value_of(list.source().totals(), by));
}

// Behind the name of each site that is shown.
std::vector<std::string> words_behind(const page& page, const site_list& list, std::span<const std::uint32_t> shown) {
  std::vector<shown_name> names;
  for (const auto i : shown) {
    analyse::caller place;
    place.frame = list.sites()[i].frame;
    if (place.frame.location != none) place.lines = {analyse::line_number(list.source(), place.frame)};
    names.push_back(
        {frame_line(list.source(), margin, place, page.width()), analyse::function_name(list.source(), place.frame)});
  }
  return distinguishing_words(names);
}

void write_left_out(page& page, const profile& p, const analyse::caller_tree& tree) {
  if (tree.left_out.empty()) return;
  constexpr std::size_t name_width = 36;
  constexpr std::size_t room_for_count = 30;
  std::string line = fmt::format("{}  via", margin);
  std::string last;
  std::size_t shown = 0;
  for (auto frame = tree.left_out.rbegin(); frame != tree.left_out.rend(); ++frame, ++shown) {
    std::string name = frame_name(p, *frame, name_width);
    if (name == last) continue;
    if (!last.empty() && columns(line) + columns(name) + room_for_count > page.width()) break;
    line += fmt::format("{} {}", last.empty() ? "" : ",", name);
    last = std::move(name);
  }
  const std::size_t frames = tree.left_out.size();
  if (shown < frames) line += fmt::format(", ... ({} frames left out)", frames);
  page.line(line, tone::faint);
}

}  // namespace

void write_sites(page& page, site_list& list, const site_section_options& options) {
  const profile& p = list.source();
  const auto total =
      static_cast<double>(options.shares_of != 0 ? options.shares_of : shared_by_sites(list, options.by));
  const auto order = analyse::rank_sites(list.sites(), options.by, SIZE_MAX);
  const auto value_at = [&](std::size_t i) {
    return static_cast<double>(value_of(list.sites()[order[i]].count, options.by));
  };
  const std::size_t most = options.top != 0 ? options.top : options.usual;
  std::size_t shown = std::min<std::size_t>(most, order.size());
  const auto matters = [&](double value) {
    return value >= share_worth_listing * total || value >= share_of_largest * value_at(0);
  };
  while (options.top == 0 && shown > 1 && !matters(value_at(shown - 1))) --shown;
  std::int64_t rest = 0;
  for (std::size_t i = shown; i < order.size(); ++i) rest += value_of(list.sites()[order[i]].count, options.by);

  const bool shows_bytes_held = options.by == measure::live || options.by == measure::peak;
  std::optional<place_shapes> shapes;
  if (shows_bytes_held && !options.amount && !p.window) shapes.emplace(p);
  if (shapes && !shapes->has_any()) shapes.reset();
  if (shapes && shown != 0 && !options.aside) page.line(shapes->legend(), tone::faint);

  const auto words = words_behind(page, list, std::span(order).first(shown));
  const bool hints_at_depth = options.full_recursion && options.depth == 0;
  for (std::size_t i = 0; i < shown; ++i) {
    const analyse::site& site = list.sites()[order[i]];
    const double value = value_at(i);
    analyse::caller_options tree_options;
    tree_options.by = options.by;
    tree_options.fold = !options.full_recursion;
    tree_options.depth = options.depth != 0 ? options.depth - 1
                         : options.aside    ? depth_of_an_aside
                                            : depth_that_matters;
    const auto tree = analyse::build_callers(p, site, list.machinery(), tree_options);

    std::string head = fmt::format("{:3}. {}  {}", i + 1, percent_text(value, total),
                                   options.amount ? options.amount(site.count) : amount(p, site.count, options.by));
    if (shapes) head = shapes->beside(page, std::move(head), site);
    page.line(head, tone::bold);
    if (tree.nodes.empty()) {
      page.line(fmt::format("{}(allocations without a stack)", margin));
      continue;
    }
    page.line(frame_line(p, margin, tree.nodes[0], page.width(), words[i]));
    write_left_out(page, p, tree);
    const bool in_full = options.depth != 0 || i < sites_shown_in_full || value >= share_shown_in_full * total;
    if (in_full) {
      write_callers(page, p, tree, {options.by, total, options.aside ? 1U : 2U, hints_at_depth}, margin);
    } else {
      write_callers_briefly(page, p, tree, list.machinery(), margin);
    }
  }
  if (shown < order.size()) {
    page.line(fmt::format("     {}  {} more {}", percent_text(static_cast<double>(rest), total),
                          count_text(order.size() - shown), order.size() - shown == 1 ? "place" : "places"),
              tone::faint);
  }
}

void write_stack(page& page, const profile& p, analyse::machinery& machinery, std::uint32_t node) {
  const auto tree = analyse::build_stack(p, node, machinery);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    page.line(frame_line(p, margin, tree.nodes[i], page.width()));
    if (i == 0) write_left_out(page, p, tree);
  }
}

}  // namespace heapledger::report

#include "tool/report/tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "tool/analyse/lifetimes.hpp"
#include "tool/analyse/sizes.hpp"
#include "tool/analyse/threads.hpp"
#include "tool/report/grid.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t thread_rows_shown = 10;

std::string range_text(const size_bucket& row) {
  if (row.from == row.to) return bytes_text(row.from);
  if (row.to == UINT64_MAX) return fmt::format("{} and more", bytes_text(row.from));
  const auto plain = [](std::uint64_t bytes) {  // bounds are round numbers: "4 KiB" instead of "4.0 KiB"
    if (bytes >= 1024 * 1024) return fmt::format("{} MiB", bytes / 1024 / 1024);
    if (bytes >= 1024) return fmt::format("{} KiB", bytes / 1024);
    return fmt::format("{} B", bytes);
  };
  return row.to < 1024 ? fmt::format("{} to {} B", row.from, row.to)
                       : fmt::format("{} to {}", plain(row.from), plain(row.to + 1));
}

std::string bar(double share, std::size_t width, bool unicode) {
  const auto eighths = static_cast<std::size_t>(std::lround(share * static_cast<double>(width) * 8));
  std::string result;
  for (std::size_t i = 0; i < eighths / 8; ++i) result += unicode ? "█" : "#";
  if (!unicode) return result.empty() && share > 0 ? "." : result;
  constexpr std::array parts = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  result += parts[eighths % 8];
  return result.empty() && share > 0 ? "▏" : result;
}

std::string range_text(const lifetime_bucket& row) {
  struct unit {
    std::uint64_t ns;
    const char* name;
  };
  constexpr std::array units = {unit{1'000'000'000, "s"}, unit{1'000'000, "ms"}, unit{1000, "us"}};
  const auto in = [](std::uint64_t ns, const unit& u) {
    return ns < u.ns ? std::string("0.1") : count_text(ns / u.ns);
  };
  for (const unit& u : units) {
    if (row.to_ns == UINT64_MAX) return fmt::format("{} s and more", in(row.from_ns, u));
    if (row.to_ns < u.ns - 1) continue;
    if (row.from_ns == 0) return fmt::format("under {} {}", in(row.to_ns + 1, u), u.name);
    return fmt::format("{} to {} {}", in(row.from_ns, u), in(row.to_ns + 1, u), u.name);
  }
  return {};
}

template <class Row>
void write_histogram(page& page, const std::vector<Row>& rows, std::uint64_t Row::*member) {
  double all = 0;
  double highest = 0;
  for (const auto& row : rows) {
    all += static_cast<double>(row.*member);
    highest = std::max(highest, static_cast<double>(row.*member));
  }
  for (const auto& row : rows) {
    const auto count = static_cast<double>(row.*member);
    const std::string head =
        fmt::format("  {:>18}{:>16}  {}  ", range_text(row), count_text(row.*member), percent_text(count, all));
    page.line(head + bar(count / highest, page.width() - columns(head), page.unicode()));
  }
}

struct memory_part {
  const char* label;
  const char* meaning;
  std::int64_t memory_map::*bytes;
};

constexpr std::array<memory_part, 8> memory_parts = {{
    {"live blocks", "as the program asked for them", &memory_map::live_bytes},
    {"tags", "what heapledger adds to blocks", &memory_map::tag_bytes},
    {"heapledger", "its tables in the process", &memory_map::profiler_bytes},
    {"allocator", "free lists, rounding", &memory_map::allocator_bytes},
    {"mapped", "by the program itself (mmap)", &memory_map::mapped_bytes},
    {"files", "the program and its libraries", &memory_map::file_bytes},
    {"stacks", "of threads", &memory_map::stack_bytes},
    {"other", "shared memory", &memory_map::other_bytes},
}};

// Rounded so that the numbers shown add up to the sum shown.
struct kib_column {
  std::array<std::int64_t, memory_parts.size()> parts{};
  std::int64_t unexplained = 0;
  std::int64_t total = 0;

  explicit kib_column(const memory_map& map) {
    std::int64_t bytes = 0;
    std::int64_t before = 0;
    const auto next = [&](std::int64_t part) {
      bytes += part;
      const std::int64_t rounded = std::llround(static_cast<double>(bytes) / 1024);
      return rounded - std::exchange(before, rounded);
    };
    for (std::size_t i = 0; i < memory_parts.size(); ++i) parts[i] = next(map.*memory_parts[i].bytes);
    unexplained = next(map.rss_bytes - bytes);
    total = before;
  }
};

}  // namespace

void write_threads(page& page, const profile& p) {
  const auto rows = analyse::thread_rows(p.threads);
  if (p.threads.size() < 2) return;
  double allocations = 0;
  for (const auto& row : rows) allocations += static_cast<double>(row.allocations);
  page.heading(fmt::format("Threads: {}", count_text(p.threads.size())));
  grid table(
      {{"name", 18, cell::name}, {"threads", 8}, {"share", 10}, {"allocations", 18}, {"allocated", 14}, {"freed", 14}});
  for (std::size_t i = 0; i < std::min(rows.size(), thread_rows_shown); ++i) {
    const auto& row = rows[i];
    table.add({row.name.empty() ? fmt::format("tid {}", row.tid) : terminal_text(row.name), count_text(row.threads),
               percent_text(static_cast<double>(row.allocations), allocations), count_text(row.allocations),
               bytes_text(row.allocated_bytes), bytes_text(row.freed_bytes)});
  }
  page.table(table);
  if (rows.size() > thread_rows_shown) {
    page.line(fmt::format("  {} more names", count_text(rows.size() - thread_rows_shown)), tone::faint);
  }
}

void write_sizes(page& page, const profile& p) {
  const auto rows = analyse::size_rows(p.sizes);
  if (rows.empty()) return;
  page.heading("Sizes asked for");
  write_histogram(page, rows, &size_bucket::allocations);
}

void write_lifetimes(page& page, const profile& p) {
  if (!p.process.lives_timed) return;
  const auto rows = analyse::lifetime_rows(p.lifetimes);
  const lives all = p.totals().life;
  page.heading("How long blocks lived");
  write_histogram(page, rows, &lifetime_bucket::frees);
  std::string means;
  if (const auto mean_ns = analyse::mean_life_ns(all))
    means = fmt::format("{} timed, {} on average", counted(all.ended, "free", "frees"), life_text(*mean_ns));
  if (const auto mean_ns = analyse::mean_age_ns(all, p.process.duration_ns))
    means += fmt::format("{}what was never freed was {} old at the end, on average", means.empty() ? "" : "; ",
                         life_text(*mean_ns));
  if (!means.empty()) page.paragraph(means + ".", 2, tone::faint);
}

std::string allocator_share_text(const profile& p) {
  constexpr double share_worth_a_word = 0.4;
  if (!p.memory || p.memory->allocator_bytes < p.memory->live_bytes) return {};
  const double share = static_cast<double>(p.memory->allocator_bytes) /
                       static_cast<double>(std::max<std::int64_t>(1, p.memory->rss_bytes));
  if (share < share_worth_a_word) return {};
  return fmt::format("{} of {} of resident memory at {} are in no live block: the allocator has them.",
                     bytes_text(p.memory->allocator_bytes), bytes_text(p.memory->rss_bytes),
                     seconds_text(p.memory->time_ns));
}

void write_memory(page& page, const profile& p) {
  if (!p.memory && !p.memory_peak) return;
  std::vector<const memory_map*> maps;
  if (p.memory_peak) maps.push_back(&*p.memory_peak);
  if (p.memory && !(p.memory_peak && p.memory_peak->time_ns == p.memory->time_ns)) maps.push_back(&*p.memory);
  const bool running = p.process.ended == ending::running;
  page.heading("Resident memory (RSS): what it consists of");
  std::vector<grid_column> columns = {{"", 15, cell::name}};
  for (const auto* map : maps) {
    const bool now = running && p.memory && map == &*p.memory;
    columns.push_back({now ? "now" : fmt::format("at {}", seconds_text(map->time_ns)), 18});
  }
  columns.push_back({"", 0, cell::words});
  grid table(std::move(columns));
  const auto add = [&](std::string_view label, auto&& bytes_in, std::string_view meaning) {
    std::vector<std::string> cells = {std::string(label)};
    for (const auto* map : maps) cells.push_back(signed_count_text(bytes_in(kib_column(*map))) + " KiB");
    cells.push_back(meaning.empty() ? "" : fmt::format(" {}", meaning));
    table.add(std::move(cells));
  };
  const bool is_all_booked = !p.profiler.losses.contains("mappings_full");
  for (std::size_t i = 0; i < memory_parts.size(); ++i) {
    const bool holds_mappings = !is_all_booked && memory_parts[i].bytes == &memory_map::allocator_bytes;
    add(
        memory_parts[i].label, [i](const kib_column& column) { return column.parts[i]; },
        holds_mappings ? "free lists, and mappings not booked" : memory_parts[i].meaning);
  }
  const bool complete =
      std::all_of(maps.begin(), maps.end(), [](const memory_map* map) { return kib_column(*map).unexplained == 0; });
  if (!complete)
    add(
        "not explained", [](const kib_column& column) { return column.unexplained; }, "");
  add(
      "RSS", [](const kib_column& column) { return column.total; }, "");
  table.fit(page.width());
  page.line(table.head(), tone::faint);
  for (std::size_t i = 0; i < table.size(); ++i)
    page.line(table.line(i), i + 1 == table.size() ? tone::bold : tone::plain);

  const bool negative =
      std::any_of(maps.begin(), maps.end(), [](const memory_map* map) { return map->allocator_bytes < 0; });
  if (negative) {
    page.paragraph("The allocator's row is below zero where live blocks were never written to, or are swapped out.", 2,
                   tone::faint);
  }
}

}  // namespace heapledger::report

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "tool/analyse/excerpt.hpp"
#include "tool/report/names.hpp"
#include "tool/report/site_section.hpp"
#include "tool/report/tables.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t sites_shown = 5;

std::string amount(const counters& count, bool seen) {
  const std::string mapped = fmt::format("{} mapped in {}; {}", bytes_text(count.peak_bytes),
                                         counted(static_cast<std::uint64_t>(count.live_blocks()), "range", "ranges"),
                                         counted(count.allocations, "call", "calls"));
  return seen ? fmt::format("{} resident at most; {}", bytes_text(count.live_bytes()), mapped) : mapped;
}

// As if the mappings were all that the process did: what is live is what was resident at most, the bytes at the peak
// are the addresses that are mapped now, and live blocks are ranges: of those one call may leave many, so that frees
// are counted modulo 2^64.
profile as_heap(const profile& p) {
  profile heap = analyse::without_stacks(p);
  for (const auto& site : p.mapped->sites)
    heap.stacks.push_back({.id = static_cast<std::uint32_t>(heap.stacks.size()),
                           .node = site.node,
                           .scope = {},
                           .count = {.allocations = site.calls,
                                     .allocated_bytes = static_cast<std::uint64_t>(site.most_resident_bytes),
                                     .frees = site.calls - site.ranges,
                                     .peak_bytes = static_cast<std::int64_t>(site.live_bytes())}});
  return heap;
}

constexpr double share_worth_a_word = 0.2;

// Not files that it maps, such as weights of a model.
bool is_mostly_anonymous(const mapped_info& mapped) {
  std::int64_t anonymous = 0, all = 0;
  for (const auto& site : mapped.sites) {
    all += site.resident_bytes;
    if (site.kind == "anonymous") anonymous += site.resident_bytes;
  }
  return anonymous > all / 2;
}

bool is_python(const profile& p) {
  return std::any_of(p.modules.begin(), p.modules.end(), [](const module_info& module) {
    const auto file = file_part(module.path);
    return file.starts_with("python3") || file.starts_with("libpython3");
  });
}

}  // namespace

std::string mapped_share_text(const profile& p) {
  if (!p.mapped || !p.memory) return {};
  const double share =
      static_cast<double>(p.memory->mapped_bytes) / static_cast<double>(std::max<std::int64_t>(1, p.memory->rss_bytes));
  if (share < share_worth_a_word) return {};
  return fmt::format("{} of {} of resident memory are not malloc's: the program mapped them itself.{}",
                     bytes_text(p.memory->mapped_bytes), bytes_text(p.memory->rss_bytes),
                     is_python(p) && is_mostly_anonymous(*p.mapped)
                         ? " Python keeps most of its objects in such memory: with PYTHONMALLOC=malloc in the "
                           "environment each is an allocation, and has a stack."
                         : "");
}

void write_mapped(page& page, const profile& p) {
  if (!p.mapped) return;
  const profile heap = as_heap(p);
  const counters all = heap.totals();
  const bool seen = p.mapped->seen_ns.has_value();
  const bool any_resident = all.live_bytes() > 0;
  std::int64_t resident = 0, of_files = 0, shared = 0;
  for (const auto& site : p.mapped->sites) {
    resident += site.resident_bytes;
    if (site.kind == "file") of_files += site.resident_bytes;
    if (site.kind == "shared") shared += site.resident_bytes;
  }
  page.heading(seen ? fmt::format("Mapped by the program itself (mmap): {} resident at {}", bytes_text(resident),
                                  seconds_text(*p.mapped->seen_ns))
                    : std::string("Mapped by the program itself (mmap)"));
  const auto part = [](std::int64_t bytes, const char* what) {
    return bytes == 0 ? std::string() : fmt::format("; of what is resident {} {}", bytes_text(bytes), what);
  };
  page.paragraph(
      fmt::format(
          "{} at most {} at a time, and {} {}{}{}. Apart from what the stacks above tell of, and without what malloc "
          "maps for its blocks.",
          all.allocations == 1 ? "1 call mapped" : fmt::format("{} calls mapped", count_text(all.allocations)),
          bytes_text(p.mapped->peak_bytes), bytes_text(all.peak_bytes),
          p.process.ended == ending::running ? "now" : "at the end", part(of_files, "are of files"),
          part(shared, "are shared memory")),
      2, tone::faint);
  site_list list(heap);
  site_section_options options;
  options.by = any_resident ? analyse::measure::live : analyse::measure::peak;
  options.top = sites_shown;
  options.usual = sites_shown;
  options.aside = true;
  options.amount = [seen](const counters& count) { return amount(count, seen); };
  if (any_resident || all.peak_bytes > 0) write_sites(page, list, options);
}

}  // namespace heapledger::report

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <initializer_list>
#include <vector>

#include "tool/profile/check_depths.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger::format {
namespace {

// So far from the ends of the type that a report may subtract two times, and add up a few sizes.
constexpr std::int64_t max_time_ns = (std::int64_t{1} << 62) - 1;
constexpr std::uint32_t second_ns = 1'000'000'000;
constexpr std::int64_t max_bytes = std::int64_t{1} << 59;

void check_index(std::uint32_t index, std::size_t size, const char* what, std::size_t owner) {
  if (index >= size) throw damage(fmt::format("{} {} points outside its table", what, owner));
}

void check_optional_index(std::uint32_t index, std::size_t size, const char* what, std::size_t owner) {
  if (index != none) check_index(index, size, what, owner);
}

void check_values(const char* what, std::int64_t limit, std::initializer_list<std::int64_t> values) {
  for (const std::int64_t value : values) {
    if (value > limit || value < -limit) throw damage(fmt::format("a number of {} is out of range", what));
  }
}

void check_symbols(const profile& p) {
  for (std::size_t i = 0; i < p.frames.size(); ++i) {
    check_optional_index(p.frames[i].function, p.strings.size(), "frame", i);
    check_optional_index(p.frames[i].file, p.strings.size(), "frame", i);
  }
  for (std::size_t i = 0; i < p.locations.size(); ++i) {
    check_optional_index(p.locations[i].module, p.modules.size(), "location", i);
    for (const auto symbol : p.locations[i].symbols) check_index(symbol, p.frames.size(), "location", i);
  }
}

void check_tree(const profile& p) {
  for (std::size_t i = 0; i < p.nodes.size(); ++i) {
    const bool sound = i == 0 ? p.nodes[i].parent == 0 && p.nodes[i].location == none : p.nodes[i].parent < i;
    if (!sound) throw damage(fmt::format("stack node {} has no parent before it", i));
    check_optional_index(p.nodes[i].location, p.locations.size(), "stack node", i);
  }
}

// Whoever adds up stacks, or takes the difference of two counters, cannot overflow.
void check_counters(const profile& p) {
  counters sum;
  const auto add = [](std::uint64_t& total, std::uint64_t value) {
    if (__builtin_add_overflow(total, value, &total) || total > static_cast<std::uint64_t>(max_bytes)) {
      throw damage("the counters of its stacks add up to more than any program can do");
    }
  };
  std::uint64_t peak_magnitude = 0;
  for (std::size_t i = 0; i < p.stacks.size(); ++i) {
    check_index(p.stacks[i].node, p.nodes.size(), "stack", i);
    const counters& count = p.stacks[i].count;
    add(sum.allocations, count.allocations);
    add(sum.allocated_bytes, count.allocated_bytes);
    add(sum.frees, count.frees);
    add(sum.freed_bytes, count.freed_bytes);
    add(sum.temporaries, count.temporaries);
    add(sum.reallocations, count.reallocations);
    const auto peak = static_cast<std::uint64_t>(count.peak_bytes);
    add(peak_magnitude, count.peak_bytes < 0 ? 0 - peak : peak);
    const lives& life = count.life;
    add(sum.life.ended, life.ended);
    add(sum.life.unended, life.unended);
    add(sum.life.lived.seconds, life.lived.seconds);
    add(sum.life.born.seconds, life.born.seconds);
    if (life.lived.ns >= second_ns || life.born.ns >= second_ns) throw damage("the lives of a stack are not possible");
  }
}

void check_lifetimes(const profile& p) {
  constexpr auto most = static_cast<std::uint64_t>(max_bytes);
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
  for (std::size_t i = 0; i < p.lifetimes.size(); ++i) {
    const lifetime_bucket& bucket = p.lifetimes[i];
    const bool rises = i == 0 || bucket.from_ns > p.lifetimes[i - 1].to_ns;
    if (!rises || bucket.to_ns < bucket.from_ns) throw damage("its histogram of lifetimes is not in order");
    if (bucket.frees > most - frees || bucket.freed_bytes > most - freed_bytes)
      throw damage("its histogram of lifetimes counts more than any program can do");
    frees += bucket.frees;
    freed_bytes += bucket.freed_bytes;
  }
}

void check_scopes(const profile& p) {
  for (const auto& scope : p.scopes) {
    if (scope.path.empty()) throw damage("it tells of a scope without a name");
    check_values("a scope", max_bytes,
                 {scope.peak_bytes, scope.live_bytes_limit.value_or(0), scope.allocated_bytes_limit.value_or(0),
                  scope.allocations_limit.value_or(0)});
  }
}

void check_scope_timeline(const profile& p) {
  for (std::size_t i = 0; i < p.scope_timeline.size(); ++i) {
    const auto& moment = p.scope_timeline[i];
    check_index(moment.scope, p.scopes.size(), "a scope's moment", i);
    check_values("a scope's moment", max_time_ns, {moment.time_ns});
    check_values("a scope's moment", max_bytes, {moment.live_bytes});
  }
}

void check_stack_timeline(const profile& p) {
  const auto& moments = p.stack_timeline;
  std::int64_t held = 0;  // at all moments together, so that nobody's sum of some is too large
  for (std::size_t i = 0; i < moments.size(); ++i) {
    check_index(moments[i].stack, p.stacks.size(), "a stack's moment", i);
    check_values("a stack's moment", max_time_ns, {moments[i].time_ns});
    check_values("a stack's moment", max_bytes, {moments[i].live_bytes});
    const auto key = [&](std::size_t row) { return std::pair(moments[row].stack, moments[row].time_ns); };
    if (i != 0 && key(i) <= key(i - 1)) throw damage("the moments of its stacks are not in order");
    held += std::abs(moments[i].live_bytes);
    if (held > max_bytes) throw damage("its stacks held more than any program can do");
  }
}

class snapshot_sums {
 public:
  explicit snapshot_sums(std::size_t stacks) : stacks_(stacks) {}

  void add(const stack_change& change) {
    const auto& by = change.by;
    const std::uint64_t steps[] = {by.allocations, by.allocated_bytes, by.frees, by.freed_bytes,
                                   by.temporaries, by.reallocations,   0};
    auto& of = stacks_[change.stack];
    for (std::size_t i = 0; i < of.size(); ++i) {
      const bool is_peak = i == 6;
      const auto step = is_peak ? by.peak_bytes : static_cast<std::int64_t>(steps[i]);
      const auto before = of[i];
      if (__builtin_add_overflow(before, step, &of[i]) || of[i] > max_bytes || of[i] < (is_peak ? -max_bytes : 0))
        throw damage("the counters of a snapshot are out of range");
      totals_[i] += is_peak ? std::abs(of[i]) - std::abs(before) : step;
    }
  }
  void check_totals() const {
    for (const auto total : totals_)
      if (total > max_bytes) throw damage("the counters of a snapshot add up to more than any program can do");
  }

 private:
  std::vector<std::array<std::int64_t, 7>> stacks_;
  __extension__ typedef __int128 wide;
  std::array<wide, 7> totals_{};
};

// The books at each snapshot can be had by adding up, and are as sound as those of the end.
void check_snapshots(const profile& p) {
  std::size_t next = 0;
  std::int64_t last_ns = -max_time_ns;
  for (const auto& marker : p.markers) {
    if (marker.name.empty()) throw damage("a marker has no name");
    check_values("a marker", max_time_ns, {marker.time_ns});
    check_values("a marker", max_bytes, {marker.live_bytes, marker.live_blocks});
    if (marker.time_ns < last_ns) throw damage("its markers are not in the order of time");
    last_ns = marker.time_ns;
    if (marker.snapshot && *marker.snapshot != next++) throw damage("a marker has another one's snapshot");
  }
  if (next != p.snapshots.size()) throw damage("there are snapshots that no marker has");
  snapshot_sums sums(p.snapshots.empty() ? 0 : p.stacks.size());
  for (const auto& snapshot : p.snapshots) {
    std::uint32_t after = 0;
    for (const auto& change : snapshot.changes) {
      if (change.stack < after) throw damage("the stacks of a snapshot are not in order");
      check_index(change.stack, p.stacks.size(), "a snapshot's stack", change.stack);
      after = change.stack + 1;
      sums.add(change);
    }
    sums.check_totals();
  }
}

void check_pools(const profile& p) {
  constexpr auto most = static_cast<std::uint64_t>(max_bytes);
  for (const auto& pool : p.pools) {
    const bool sound = pool.frees <= pool.allocations && pool.closed <= pool.opened && pool.allocations <= most &&
                       pool.allocated_bytes <= most && pool.chunk_bytes <= UINT32_MAX;
    if (!sound) throw damage("the numbers of a pool are not possible");
    for (std::size_t i = 0; i < pool.sites.size(); ++i) {
      const auto& site = pool.sites[i];
      check_index(site.node, p.nodes.size(), "pool site", i);
      if (site.frees > site.allocations || site.freed_bytes > site.allocated_bytes || site.allocated_bytes > most)
        throw damage("the numbers of a pool's stack are not possible");
    }
  }
}

void check_mapped(const profile& p) {
  if (!p.mapped) return;
  constexpr auto most = static_cast<std::uint64_t>(max_bytes);
  std::uint64_t calls = 0, bytes = 0, ranges = 0, resident = 0, most_resident = 0;
  const auto add = [](std::uint64_t& sum, auto value) {
    if (value < 0 || static_cast<std::uint64_t>(value) > most - sum)
      throw damage("the numbers of a mapping's stack are not possible");
    sum += static_cast<std::uint64_t>(value);
  };
  for (std::size_t i = 0; i < p.mapped->sites.size(); ++i) {
    const auto& site = p.mapped->sites[i];
    check_index(site.node, p.nodes.size(), "mapping site", i);
    add(calls, site.calls);
    add(bytes, site.mapped_bytes);
    add(ranges, site.ranges);
    add(resident, site.resident_bytes);
    add(most_resident, site.most_resident_bytes);
    if (site.unmapped_bytes > site.mapped_bytes)
      throw damage("more was unmapped of a mapping's stack than it had mapped");
  }
}

void check_errors(const profile& p) {
  for (std::size_t i = 0; i < p.errors.size(); ++i)
    check_index(p.errors[i].freed_node, p.nodes.size(), "who freed an error's block", i);
}

void check_threads(const profile& p) {
  for (std::size_t i = 0; i < p.stacks.size(); ++i)
    check_optional_index(p.stacks[i].thread, p.threads.size(), "stack", i);
  std::uint32_t last = 0;
  counters left;
  for (std::size_t i = 0; i < p.thread_shares.size(); ++i) {
    const auto& share = p.thread_shares[i];
    check_index(share.stack, p.stacks.size(), "a thread's share", i);
    check_index(share.thread, p.threads.size(), "a thread's share", i);
    const auto& stack = p.stacks[share.stack];
    if (share.stack < last || stack.thread != none) throw damage("the shares of threads are not in order");
    if (i == 0 || share.stack != last) left = stack.count;
    last = share.stack;
    if (share.allocations > left.allocations || share.allocated_bytes > left.allocated_bytes ||
        share.temporaries > left.temporaries)
      throw damage("the threads of a stack did more than all of them");
    left.allocations -= share.allocations;
    left.allocated_bytes -= share.allocated_bytes;
    left.temporaries -= share.temporaries;
  }
}

void check_numbers(const profile& p) {
  check_values("the process", max_time_ns,
               {p.process.start_realtime_ns, p.process.duration_ns, p.peak.time_ns.value_or(0)});
  for (const auto& module : p.modules) {
    check_values("a module", max_time_ns, {module.loaded_ns, module.unloaded_ns.value_or(0)});
  }
  for (const auto& thread : p.threads) {
    check_values("a thread", max_time_ns, {thread.start_ns, thread.end_ns.value_or(0)});
  }
  for (const auto& point : p.timeline) {
    check_values("the timeline", max_time_ns, {point.time_ns});
    check_values("the timeline", max_bytes, {point.live_bytes, point.live_blocks});
  }
  if (p.leaks) {
    check_values("the leak watch", max_time_ns, {p.leaks->since_realtime_ns, p.leaks->duration_ns});
    for (const auto& leak : p.leaks->entries) {
      check_values("a leak", max_time_ns, {leak.oldest_age_ns});
      check_values("a leak", max_bytes,
                   {leak.bytes, leak.bytes_low, leak.bytes_high, leak.bytes_per_hour, leak.bytes_per_hour_low,
                    leak.bytes_per_hour_high});
      if (!leak.pool) continue;
      check_index(*leak.pool, p.pools.size(), "a leak's pool", *leak.pool);
      check_index(leak.node, p.nodes.size(), "a leak's place", leak.node);
    }
  }
  if (p.mapped) check_values("what was mapped", max_time_ns, {p.mapped->seen_ns.value_or(0)});
  for (const auto* map : {&p.memory, &p.memory_peak}) {
    if (!*map) continue;
    const memory_map& m = **map;
    check_values("the memory map", max_time_ns, {m.time_ns});
    check_values("the memory map", max_bytes,
                 {m.rss_bytes, m.live_bytes, m.tag_bytes, m.profiler_bytes, m.allocator_bytes, m.mapped_bytes,
                  m.file_bytes, m.stack_bytes, m.other_bytes});
  }
}

}  // namespace

void check(const profile& profile) {
  check_symbols(profile);
  check_tree(profile);
  check_counters(profile);
  check_lifetimes(profile);
  check_scopes(profile);
  check_scope_timeline(profile);
  check_stack_timeline(profile);
  check_snapshots(profile);
  check_pools(profile);
  check_mapped(profile);
  check_errors(profile);
  check_depths(profile);
  check_threads(profile);
  check_numbers(profile);
}

}  // namespace heapledger::format

#include "tool/export/heaptrack_plan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tool/profile/error.hpp"

namespace heapledger::exports {
namespace {

constexpr std::uint64_t most_blocks = 500'000'000;

struct amount {
  std::uint64_t blocks = 0;
  std::uint64_t bytes = 0;
  // Can some of the blocks hold exactly this much, and the others the rest?
  bool holds(std::uint64_t part) const {
    if (part == 0) return true;
    return part == bytes ? blocks > 0 : part < bytes && blocks > 1;
  }
};

struct peak_part {
  std::uint64_t live = 0;
  std::uint64_t freed = 0;
};

// How much of the bytes at the peak is in blocks that live on; nothing where no split is possible.
std::optional<peak_part> split_peak(const amount& live, const amount& freed, std::uint64_t peak) {
  const auto less = [](std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; };
  for (const std::uint64_t from_live : {std::min(peak, live.bytes), less(peak, freed.bytes), std::uint64_t{0}}) {
    const peak_part part{from_live, peak - std::min(from_live, peak)};
    if (part.live <= peak && live.holds(part.live) && part.freed <= freed.bytes && freed.holds(part.freed)) return part;
  }
  return std::nullopt;
}

// `part` of the bytes takes its share of the blocks, at least one, and leaves one for the rest.
std::uint64_t blocks_of(const amount& all, std::uint64_t part) {
  if (part == 0) return 0;
  if (part == all.bytes) return all.blocks;
  const double share = static_cast<double>(part) / static_cast<double>(all.bytes);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(share * static_cast<double>(all.blocks)), 1,
                                   all.blocks - 1);
}

class planner {
 public:
  planner(const profile& p, std::uint64_t most_allocations) : p_(p) {
    const std::uint64_t all = p.totals().allocations;
    if (all <= most_allocations) return;
    std::uint64_t lasting = 0;
    for (const auto& stack : p.stacks)
      lasting += static_cast<std::uint64_t>(std::max<std::int64_t>(stack.count.live_blocks(), 0));
    kept_share_ = static_cast<double>(most_allocations - std::min(lasting, most_allocations)) /
                  static_cast<double>(all - std::min(lasting, all - 1));
  }

  heaptrack_plan plan() {
    for (std::uint32_t i = 0; i < p_.stacks.size(); ++i) add_stack(i, p_.stacks[i].count);
    date_stacks();
    std::uint64_t blocks = 0;
    for (const block_group& group : plan_.groups) blocks += group.blocks;
    if (blocks > most_blocks) {
      throw input_error("export", fmt::format("heaptrack's format has a line for each of {} blocks", blocks),
                        "use another one");
    }
    return std::move(plan_);
  }

 private:
  void date_stacks() {
    plan_.came_ns.resize(p_.stacks.size());
    plan_.went_ns.resize(p_.stacks.size());
    for (const auto& moment : p_.stack_timeline) {
      if (moment.live_bytes <= 0 || moment.live_bytes < p_.stacks[moment.stack].count.peak_bytes / 2) continue;
      auto& came = plan_.came_ns[moment.stack];
      if (came == 0) came = moment.time_ns;
      plan_.went_ns[moment.stack] = moment.time_ns;
    }
  }

  void add_stack(std::uint32_t stack, const counters& count) {
    // The books of several threads are read one after the other, so a sum can be one event out of step.
    amount freed{std::min(count.frees, count.allocations), std::min(count.freed_bytes, count.allocated_bytes)};
    amount live{count.allocations - freed.blocks, count.allocated_bytes - freed.bytes};
    std::uint64_t peak = static_cast<std::uint64_t>(std::max<std::int64_t>(count.peak_bytes, 0));
    peak = std::min(peak, count.allocated_bytes);
    bool exact =
        freed.blocks == count.frees && freed.bytes == count.freed_bytes && std::int64_t(peak) == count.peak_bytes;
    for (amount* part : {&freed, &live}) {
      if (part->blocks == 0 && part->bytes != 0) {
        part->bytes = 0;
        exact = false;
      }
    }
    std::optional<peak_part> at_peak = split_peak(live, freed, peak);
    if (!at_peak) {
      exact = false;
      at_peak = peak_part{live.bytes, 0};
    }
    if (!exact) ++plan_.inexact_stacks;
    plan_.peak_bytes += at_peak->live + at_peak->freed;

    const std::uint64_t temporaries = std::min(count.temporaries, freed.blocks);
    std::uint64_t freed_blocks = blocks_of(freed, at_peak->freed);
    // A block that lives at the peak cannot also be one that is freed at once.
    if (at_peak->freed != 0 && at_peak->freed < freed.bytes) {
      freed_blocks = std::min(freed_blocks, std::max<std::uint64_t>(freed.blocks - temporaries, 1));
    }
    if (at_peak->freed == freed.bytes && at_peak->freed != 0 && temporaries != 0) {
      freed_blocks = std::max<std::uint64_t>(freed.blocks - temporaries, 1);  // temporaries of no bytes at all
    }
    const std::uint64_t live_blocks = blocks_of(live, at_peak->live);
    add(plan_.peak_live, stack, {live_blocks, at_peak->live});
    add(plan_.late, stack, {live.blocks - live_blocks, live.bytes - at_peak->live});
    amount staying{freed_blocks, at_peak->freed};
    const amount passing{freed.blocks - freed_blocks, freed.bytes - at_peak->freed};
    if (temporaries > passing.blocks) {
      std::uint64_t missing = temporaries - passing.blocks;
      if (!plan_.at_top && staying.blocks != 0) {
        const std::uint64_t size = staying.blocks == 1 ? staying.bytes : staying.bytes / staying.blocks;
        plan_.at_top = static_cast<std::uint32_t>(plan_.groups.size());
        plan_.groups.push_back({stack, size, 1});
        staying = {staying.blocks - 1, staying.bytes - size};
        --missing;
      }
      plan_.missing_temporaries += missing;
    }
    add(plan_.peak_freed, stack, staying);
    add_passing(stack, passing, temporaries);
  }

  void add_passing(std::uint32_t stack, amount passing, std::uint64_t temporaries) {
    if (kept_share_ < 1 && passing.blocks != 0) {
      const auto kept = static_cast<std::uint64_t>(static_cast<double>(passing.blocks) * kept_share_);
      plan_.left_out += passing.blocks - kept;
      passing.bytes = kept == 0 ? 0 : passing.bytes / passing.blocks * kept;
      temporaries = static_cast<std::uint64_t>(static_cast<double>(temporaries) * kept_share_);
      passing.blocks = kept;
    }
    temporaries = std::min(temporaries, passing.blocks);
    for (const block_group& group : evenly(stack, passing)) {
      const std::uint64_t at_once = std::min(temporaries, group.blocks);
      temporaries -= at_once;
      push(plan_.temporary, {stack, group.size_bytes, at_once});
      push(plan_.passing, {stack, group.size_bytes, group.blocks - at_once});
    }
  }

  // Blocks of two sizes that differ by one byte; the larger first.
  static std::array<block_group, 2> evenly(std::uint32_t stack, const amount& all) {
    if (all.blocks == 0) return {};
    const std::uint64_t size = all.bytes / all.blocks;
    const std::uint64_t larger = all.bytes % all.blocks;
    return {{{stack, size + 1, larger}, {stack, size, all.blocks - larger}}};
  }

  void add(std::vector<std::uint32_t>& list, std::uint32_t stack, const amount& all) {
    for (const block_group& group : evenly(stack, all)) push(list, group);
  }

  void push(std::vector<std::uint32_t>& list, const block_group& group) {
    if (group.blocks == 0) return;
    list.push_back(static_cast<std::uint32_t>(plan_.groups.size()));
    plan_.groups.push_back(group);
  }

  const profile& p_;
  heaptrack_plan plan_;
  double kept_share_ = 1;
};

}  // namespace

heaptrack_plan plan_blocks(const profile& p, std::uint64_t most_allocations) {
  return planner(p, most_allocations).plan();
}

}  // namespace heapledger::exports

// heaptrack takes a block for temporary when the event before its free allocated from the same group. So what passes
// and is not temporary goes in pairs: allocate a, allocate b, free a, free b. The pairs must fit below the peak.
#include <algorithm>
#include <utility>

#include "tool/export/heaptrack_plan.hpp"

namespace heapledger::exports {
namespace {

struct remaining {
  std::uint32_t group = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t blocks = 0;
};

class player {
 public:
  player(const heaptrack_plan& plan, const heaptrack_events& events) : plan_(plan), events_(events) {}

  std::uint64_t play() {
    events_.phase(heaptrack_phase::before_peak);
    pair_passing();
    for (const remaining& rest : temporary_) repeat_at_once(rest.group, rest.blocks);
    for (const remaining& rest : without_partner()) {
      misjudged_ += rest.blocks;
      repeat_at_once(rest.group, rest.blocks);
    }
    events_.phase(heaptrack_phase::at_peak);
    climb();
    events_.phase(heaptrack_phase::after_peak);
    descend();
    for (const std::uint32_t group : plan_.late) repeat(events_.allocate, group, plan_.groups[group].blocks);
    return misjudged_;
  }

 private:
  std::vector<remaining> sorted(const std::vector<std::uint32_t>& list) const {
    std::vector<remaining> result;
    for (const std::uint32_t group : list) {
      result.push_back({group, plan_.groups[group].size_bytes, plan_.groups[group].blocks});
    }
    std::stable_sort(result.begin(), result.end(),
                     [](const remaining& a, const remaining& b) { return a.size_bytes < b.size_bytes; });
    return result;
  }

  static void repeat(const std::function<void(std::uint32_t)>& event, std::uint32_t group, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) event(group);
  }
  void repeat_at_once(std::uint32_t group, std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i) {
      events_.allocate(group);
      events_.free(group);
    }
  }

  bool fits(std::uint64_t a, std::uint64_t b) const { return a + b + live_bytes_ <= plan_.peak_bytes; }

  // The largest with the smallest.
  void pair_passing() {
    std::vector<remaining> passing = sorted(plan_.passing);
    temporary_ = sorted(plan_.temporary);
    std::size_t low = 0;
    std::size_t smallest_temporary = 0;
    for (std::size_t high = passing.size(); high-- > low;) {
      remaining& large = passing[high];
      while (low < high && large.blocks != 0 && fits(large.size_bytes, passing[low].size_bytes)) {
        remaining& small = passing[low];
        const std::uint64_t pairs = std::min(large.blocks, small.blocks);
        for (std::uint64_t i = 0; i < pairs; ++i) pass_together(large.group, small.group);
        large.blocks -= pairs;
        small.blocks -= pairs;
        if (small.blocks == 0) ++low;
      }
      if (large.blocks > 1 && fits(large.size_bytes, large.size_bytes)) {
        const std::uint32_t twin = events_.same_again(large.group);
        for (; large.blocks > 1; large.blocks -= 2) pass_together(large.group, twin);
      }
      // Around one that is temporary: allocate a, allocate t, free t, free a.
      while (large.blocks != 0 && smallest_temporary < temporary_.size()) {
        remaining& small = temporary_[smallest_temporary];
        if (!fits(large.size_bytes, small.size_bytes)) break;
        for (; large.blocks != 0 && small.blocks != 0; --large.blocks, --small.blocks) {
          events_.allocate(large.group);
          repeat_at_once(small.group, 1);
          events_.free(large.group);
        }
        if (small.blocks == 0) ++smallest_temporary;
      }
      if (large.blocks != 0) alone_.push_back(large);
    }
  }

  void pass_together(std::uint32_t a, std::uint32_t b) {
    events_.allocate(a);
    events_.allocate(b);
    events_.free(a);
    events_.free(b);
  }

  void order(std::vector<remaining>& blocks, const std::vector<std::int64_t>& time_of_stack) const {
    const auto time = [&](const remaining& of) { return time_of_stack[plan_.groups[of.group].stack]; };
    std::stable_sort(blocks.begin(), blocks.end(),
                     [&](const remaining& a, const remaining& b) { return time(a) < time(b); });
  }

  // Blocks that live at the peak, in the order in which they come: last one that stays, since the next event is a free.
  std::vector<remaining> climbing() const {
    std::vector<remaining> blocks = sorted(plan_.peak_freed);
    const std::vector<remaining> staying = sorted(plan_.peak_live);
    blocks.insert(blocks.end(), staying.begin(), staying.end());
    order(blocks, plan_.came_ns);
    std::vector<bool> stays(plan_.groups.size());
    for (const remaining& of : staying) stays[of.group] = true;
    if (const auto last = std::find_if(blocks.rbegin(), blocks.rend(), [&](const auto& of) { return stays[of.group]; });
        last != blocks.rend())
      std::rotate(last.base() - 1, last.base(), blocks.end());
    return blocks;
  }

  // Blocks that are freed after the peak, in that order; the first is not the last that came.
  std::vector<remaining> descending() const {
    std::vector<remaining> blocks = sorted(plan_.peak_freed);
    order(blocks, plan_.went_ns);
    if (blocks.size() > 1 && blocks[0].group == last_) std::swap(blocks[0], blocks[1]);
    return blocks;
  }

  // Takes what climb() will have passing around the blocks that stay from `alone_`: the rest.
  std::vector<remaining> without_partner() {
    std::vector<remaining> rest = alone_;
    for (const remaining& staying : climbing()) {
      for (std::uint64_t i = 0; i < staying.blocks && !rest.empty(); ++i, live_bytes_ += staying.size_bytes) {
        if (!fits(rest.back().size_bytes, staying.size_bytes)) continue;
        if (--rest.back().blocks == 0) rest.pop_back();
      }
    }
    live_bytes_ = 0;
    for (std::size_t i = 0; i < rest.size(); ++i) alone_[i].blocks -= rest[i].blocks;
    std::erase_if(alone_, [](const remaining& entry) { return entry.blocks == 0; });
    return rest;
  }

  // Up to the peak. What found no partner passes around blocks that stay.
  void climb() {
    const std::vector<remaining> blocks = climbing();
    for (const remaining& staying : blocks) {
      for (std::uint64_t i = 0; i < staying.blocks; ++i) {
        last_ = staying.group;
        if (events_.climb_to) events_.climb_to(live_bytes_ + staying.size_bytes);
        // The first to be freed must not be of the group that was allocated from last.
        if (blocks.size() == 1 && !plan_.peak_freed.empty() && i > 0 && i + 1 == staying.blocks) {
          last_ = twin_ = events_.same_again(staying.group);
        }
        const bool around = !alone_.empty() && fits(alone_.back().size_bytes, staying.size_bytes);
        if (around) events_.allocate(alone_.back().group);
        events_.allocate(last_);
        if (around) {
          events_.free(alone_.back().group);
          if (--alone_.back().blocks == 0) alone_.pop_back();
          last_ = UINT32_MAX;
        }
        live_bytes_ += staying.size_bytes;
      }
    }
    if (events_.climb_to) events_.climb_to(plan_.peak_bytes);
    if (plan_.at_top) events_.allocate(*plan_.at_top);
  }

  void descend() {
    if (plan_.at_top) events_.free(*plan_.at_top);
    bool first = !plan_.at_top;
    for (const remaining& staying : descending()) {
      for (std::uint64_t i = 0; i < staying.blocks; ++i) {
        live_bytes_ -= staying.size_bytes;
        if (events_.descend_to) events_.descend_to(live_bytes_);
        const std::uint32_t group = twin_ != 0 && i + 1 == staying.blocks ? twin_ : staying.group;
        if (std::exchange(first, false) && group == last_) ++misjudged_;
        events_.free(group);
      }
    }
  }

  const heaptrack_plan& plan_;
  const heaptrack_events& events_;
  std::vector<remaining> temporary_;
  std::vector<remaining> alone_;  // the smallest last
  std::uint64_t live_bytes_ = 0;
  std::uint64_t misjudged_ = 0;
  std::uint32_t last_ = UINT32_MAX;
  std::uint32_t twin_ = 0;
};

}  // namespace

std::uint64_t play(const heaptrack_plan& plan, const heaptrack_events& events) {
  return player(plan, events).play();
}

}  // namespace heapledger::exports

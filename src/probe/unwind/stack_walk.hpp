// The remembered stack of one thread, and the walk that brings it up to date at each allocation.
//
// For every frame of the last walk it keeps the frame's state and node, and for the whole stack, outermost first, the
// words that the walk read. At the next allocation a walk goes outward from the caller until it meets a frame whose
// state is a remembered one; if all words remembered outside that frame are still in memory, the rest of the stack
// is the same, exactly: a frame's state and those words determine it. Where a word differs, the frames inside it stay
// and the walk goes on from there.
//
// Reads no memory that a full walk would not read, takes no lock, and is used by one thread at a time.
#pragma once

#include "probe/unwind/child_cache.hpp"
#include "probe/unwind/step.hpp"

namespace heapledger::probe {

struct known_frame {
  std::uint64_t pc, rsp, rbp;
  std::uint32_t node;         // high bit: rbp is free, see frame_step
  std::uint32_t reads_begin;  // its own reads follow those of the frames outside it
};
static_assert(sizeof(known_frame) == 32);

enum class stack_cut : std::uint8_t { none, depth, no_rule, bounds };

class stack_walk {
 public:
  static constexpr std::uint32_t rbp_free_bit = 1u << 31;
  static constexpr std::uint32_t frames_limit = 1u << 20;

  // `memory` holds initial_bytes() zeroed bytes.
  void init(void* memory, std::uint32_t depth_limit, bool frame_pointers);
  static std::size_t initial_bytes();
  void forget() {
    count_ = 0;
    read_count_ = 0;
  }
  // The same, and what was known of code that may be gone.
  void forget_code() {
    forget();
    children_.forget();
  }
  stack_cut cut() const { return cut_; }

  static constexpr std::uint32_t not_same = UINT32_MAX - 1;

  // The node of the stack whose innermost frame has the given state, if nothing changed since the last walk.
  HL_HOT std::uint32_t same_node(const frame_state& caller) const {
    if (HL_UNLIKELY(count_ == 0)) return not_same;
    const known_frame& top = frames_[count_ - 1];
    if (!matches(top, caller) || first_difference(read_count_) != no_difference) return not_same;
    return top.node & ~rbp_free_bit;
  }
  // The same, found by a walk if need be.
  HL_HOT std::uint32_t node_of(const frame_state& caller) {
    const std::uint32_t node = same_node(caller);
    return HL_LIKELY(node != not_same) ? node : walk(caller.pc, caller.rsp, caller.rbp);
  }

 private:
  static constexpr std::uint32_t no_difference = UINT32_MAX;

  static bool matches(const known_frame& known, const frame_state& now) {
    return known.pc == now.pc && known.rsp == now.rsp && (known.rbp == now.rbp || (known.node & rbp_free_bit) != 0);
  }
  // Inner words first: each read is justified by the words before it.
  HL_HOT std::uint32_t first_difference(std::uint32_t end) const {
    const stack_read* const first = reads_;  // the words read alias everything: without a copy it is reloaded
    for (const stack_read* at = first + end; at != first;) {
      --at;
      if (HL_UNLIKELY(*at->address != at->value)) return static_cast<std::uint32_t>(at - first);
    }
    return no_difference;
  }
  std::uint32_t walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);
  std::uint32_t remember(std::uint32_t kept, std::uint32_t step_count);
  std::uint32_t limited_node();
  HL_COLD bool full_walk(const frame_state& caller, std::uint32_t& step_count);
  HL_COLD bool grow();
  std::uint32_t frame_with_read(std::uint32_t read, std::uint32_t from) const;
  std::uint32_t reads_end(std::uint32_t frame) const {
    return frame + 1 == count_ ? read_count_ : frames_[frame + 1].reads_begin;
  }
  void copy_step(std::uint32_t frame, frame_step& step) const;

  known_frame* frames_ = nullptr;
  stack_read* reads_ = nullptr;
  frame_step* steps_ = nullptr;  // the frames just walked, innermost first
  std::uint32_t count_ = 0;
  std::uint32_t read_count_ = 0;
  std::uint32_t capacity_ = 0;  // frames; reads have reads_per_step times as many
  std::uint32_t depth_limit_ = 0;
  child_cache children_;
  stack_cut cut_ = stack_cut::none;
  bool frame_pointers_ = false;
};

}  // namespace heapledger::probe

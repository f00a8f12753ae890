// The remembered stack of one thread, and the walk that brings it up to date at each allocation.
//
// For every frame of the last walk it keeps the frame's state, and thereby the words that the walk read: the return
// address below the caller's rsp, and rbp where a function saved it. At the next allocation a walk goes outward from
// the caller until it meets a frame whose state is a remembered one; if all words remembered outside that frame are
// still in memory, the rest of the stack is the same, exactly: a frame's state and those words determine it. Where a
// word differs, the frames inside it stay and the walk goes on from there.
//
// rbp counts only where a frame farther out is found by it. Elsewhere it is a register like others, and two states that
// differ in it alone are the same.
//
// Reads no memory that a full walk would not read, takes no lock, and is used by one thread at a time.
#pragma once

#include "probe/unwind/step.hpp"

namespace heapledger::probe {

enum frame_flag : std::uint8_t {
  uses_rbp = 1,    // the step outward begins with rbp
  needs_rbp = 2,   // the stack outside depends on this frame's rbp
  verify_rbp = 4,  // and on the rbp that this frame saved
  recorded = 8,    // its step was no plain one: what it read is listed
  last_frame = 16  // nothing is known outside it
};

struct known_frame {
  std::uint64_t pc, rsp, rbp;
  std::uint64_t path;       // a hash of the return addresses from the root to here
  std::uint32_t node;       // in the stack tree; 0: not looked up yet
  std::uint32_t reads_end;  // the recorded reads up to here are of this frame and of those outside it
  std::uint32_t more;       // how many of these frames have more to compare than a return address
  std::int16_t rbp_offset;  // where it saved rbp, from the caller's rsp; 0: it did not
  std::uint8_t flags;
};
static_assert(sizeof(known_frame) == 48);

struct walked_frame {
  frame_state state;
  std::int16_t rbp_offset;
  std::uint8_t flags;
  std::uint8_t read_count;
};

enum class stack_cut : std::uint8_t { none, depth, no_rule, bounds };

class stack_walk {
 public:
  static constexpr std::uint64_t root_path = 0x243f6a8885a308d3;

  // `memory` holds initial_bytes() zeroed bytes.
  void init(void* memory, std::uint32_t depth_limit, bool frame_pointers);
  static std::size_t initial_bytes();
  void forget() {
    top_ = root();
    unsure_ = false;
  }

  // Has nothing changed since the last walk, and has the innermost frame the given state?
  HL_HOT bool same(const frame_state& caller) const {
    return HL_LIKELY(matches(*top_, caller.pc, caller.rsp, caller.rbp)) && HL_LIKELY(innermost_change(top_) == nullptr);
  }
  // No stack is wanted: it always has more to compare than return addresses, so that events leave the path that does.
  void want_none() { root()->more = 1; }
  // Whether return addresses are all that there is to compare, and the same for such a stack.
  bool compares_more() const { return top_->more != 0; }
  HL_HOT bool plainly_same(const frame_state& caller) const {
    return HL_LIKELY(matches(*top_, caller.pc, caller.rsp, caller.rbp)) &&
           HL_LIKELY(innermost_change_of_plain(top_) == nullptr);
  }
  // Brings the stack up to date.
  void walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);

  // Of the last walk: its path, the same for the same stack and, but for one chance in 2^64, different for others; its
  // node in the stack tree, added if need be, for which signals must be blocked; whether and why it ends early.
  std::uint64_t path() const { return HL_LIKELY(depth_limit_ == 0) ? top_->path : limited_path(); }
  std::uint32_t node();
  stack_cut cut() const { return too_deep() ? stack_cut::depth : cut_; }

 private:
  static bool matches(const known_frame& known, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
    return known.pc == pc && known.rsp == rsp && (known.rbp == rbp || (known.flags & needs_rbp) == 0);
  }
  static std::uint64_t path_below(std::uint64_t path, std::uint64_t pc) {
    path = (path ^ pc) * 0x9e3779b97f4a7c15u;
    return path ^ path >> 32;
  }

  // The innermost frame, from the given one outward, whose step would lead elsewhere now. Inner words first: each read
  // is justified by the words before it.
  HL_HOT const known_frame* innermost_change(const known_frame* frame) const {
    return frame->more != 0 ? innermost_change_of_more(frame) : innermost_change_of_plain(frame);
  }
  HL_HOT const known_frame* innermost_change_of_plain(const known_frame* frame) const {
    for (const known_frame* const outermost = root() + 1; frame != outermost; --frame)
      if (HL_UNLIKELY(stack_word(frame[-1].rsp - 8) != frame[-1].pc)) return frame;
    return nullptr;
  }
  const known_frame* innermost_change_of_more(const known_frame* frame) const;
  bool reads_unchanged(const known_frame& frame) const;

  HL_COLD step_end odd_step(walked_frame& frame, known_frame*& kept, frame_state& state);
  step_end recorded_step(rule how, walked_frame& frame, known_frame*& kept, frame_state& state);
  HL_COLD bool full_walk(const frame_state& caller, std::uint32_t& count);
  void remember(known_frame* kept, std::uint32_t count);
  // Nothing is known outside the frame walked last.
  void end_at_root(known_frame*& kept, std::uint32_t count) {
    kept = root();
    if (count != 0) walked_[count - 1].flags |= last_frame;
  }
  void place(void* memory, std::uint32_t capacity);
  HL_COLD bool grow(known_frame*& kept);

  // The root stands outside all frames: no state is its, and nothing lies outside it.
  known_frame* root() const { return frames_; }
  bool too_deep() const { return depth_limit_ != 0 && top_ - root() > depth_limit_; }
  known_frame* outermost_counted() const { return too_deep() ? top_ + 1 - depth_limit_ : root() + 1; }
  std::uint64_t limited_path() const;

  known_frame* top_ = nullptr;       // the innermost
  known_frame* frames_ = nullptr;    // from the root inward
  walked_frame* walked_ = nullptr;   // the frames just walked, innermost first
  stack_read* reads_ = nullptr;      // of recorded frames, from the root inward
  stack_read* new_reads_ = nullptr;  // of those just walked, innermost first
  std::uint32_t new_read_count_ = 0;
  std::uint32_t capacity_ = 0;  // of each of the four arrays
  std::uint32_t depth_limit_ = 0;
  stack_cut cut_ = stack_cut::none;
  bool frame_pointers_ = false;
  bool unsure_ = false;  // what the last walk read is not known, so that the next must not rely on it
};

}  // namespace heapledger::probe

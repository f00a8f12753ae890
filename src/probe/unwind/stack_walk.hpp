// The remembered stack of one thread, and the walk that brings it up to date at each allocation.
//
// For every frame of the last walk it keeps the frame's state, and the words that the walk read from there outward:
// the return address below the caller's rsp, and rbp where a function saved it. At the next allocation a walk goes
// outward from the caller until it meets a frame whose state is a remembered one; if all words remembered outside that
// frame are still in memory, the rest of the stack is the same, exactly: a frame's state and those words determine it.
// Where a word differs, the frames inside it stay and the walk goes on from there.
//
// rbp counts only where a frame farther out is found by it. Elsewhere it is a register like others, and two states that
// differ in it alone are the same.
//
// Reads no memory that a full walk would not read, takes no lock, and is used by one thread at a time.
#pragma once

#include "probe/publish/stack_path.hpp"
#include "probe/unwind/step.hpp"

namespace heapledger::probe {

enum frame_flag : std::uint8_t {
  uses_rbp = 1,    // the step outward begins with rbp
  needs_rbp = 2,   // the stack outside depends on this frame's rbp
  recorded = 8,    // its step was no plain one: what it read is listed
  last_frame = 16  // nothing is known outside it
};

// How the step from a frame outward was made, in one word, which for most frames is a part of their rule.
class step_made {
 public:
  constexpr explicit step_made(rule how, unsigned flags = 0)
      : step_made(static_cast<std::uint16_t>(how.rbp_offset()), flags, 0) {}
  constexpr step_made(std::uint16_t rbp_offset, unsigned flags, unsigned read_count)
      : bits_(rbp_offset | flags << 16 | read_count << 24) {}

  // Where the frame saved rbp, from the caller's rsp; 0: it did not, or its step is recorded.
  std::int16_t rbp_offset() const { return static_cast<std::int16_t>(bits_); }
  unsigned flags() const { return bits_ >> 16 & 0xff; }
  unsigned read_count() const { return bits_ >> 24; }
  step_made with(frame_flag flag) const { return step_made(bits_ | flag << 16); }
  // As a part of a stack that depends on this frame's rbp, or does not: `need` is needs_rbp or 0.
  step_made needing(unsigned need) const { return step_made((bits_ & ~(unsigned{needs_rbp} << 16)) | need << 16); }

 private:
  constexpr explicit step_made(std::uint32_t bits) : bits_(bits) {}
  std::uint32_t bits_;
};

struct known_frame {
  std::uint64_t pc, rsp;
  std::uint64_t rbp;        // where it is needed
  std::uint64_t path;       // a hash of the return addresses from the root to here
  std::uint32_t node;       // in the stack tree; 0: not looked up yet
  std::uint32_t words_end;  // the known words up to here were read by this frame's step and by those outside it
  step_made made;

  std::uint64_t rbp_mask() const { return (made.flags() & needs_rbp) != 0 ? ~std::uint64_t{0} : 0; }
};
static_assert(sizeof(known_frame) == 48);

struct walked_frame {
  frame_state state;
  step_made made;
};
static_assert(sizeof(walked_frame) == 32);

enum class stack_cut : std::uint8_t { none, depth, no_rule, bounds };

// What a walk has gone through before it came to what it knew, any of them.
enum walked_through : unsigned {
  by_rsp = 0,  // plain steps
  by_rbp = 1,  // and plain ones that begin with rbp
  stayed = 2,  // frames that stayed inside of a changed word
  odd = 4      // others
};

class stack_walk {
 public:
  // `memory` holds initial_bytes() zeroed bytes.
  void init(void* memory, std::uint32_t depth_limit, wire::stacks_mode mode);
  static std::size_t initial_bytes();
  void forget() {
    top_ = before_ = kept_ = root();
    pc_ = 0;
    known_by_words_ = 0;
    unsure_ = false;
  }

  // Has nothing changed since the last walk, and has the innermost frame the given state?
  HL_HOT bool same(const frame_state& caller) const {
    return HL_LIKELY(pc_ == caller.pc) && HL_LIKELY(rsp_ == caller.rsp) &&
           HL_LIKELY(((rbp_ ^ caller.rbp) & rbp_mask_) == 0) && HL_LIKELY(innermost_change(innermost_word_) == words_);
  }
  // Brings the stack up to date.
  void walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);
  // Where the path will be looked up after each walk: in the place that the path's bits from `shift` up tell.
  static constexpr std::size_t path_place_bytes = 64;
  void prefetch_paths_in(const void* places, unsigned shift) {
    paths_ = static_cast<const char*>(places);
    paths_shift_ = shift;
  }

  // A frame and all that is outside it.
  struct junction {
    std::uint64_t rsp, path;
    std::uint64_t rbp, rbp_mask;  // all ones where rbp counts
  };
  // Whether it is where it was.
  HL_HOT bool unchanged_from(const junction& at) const {
    const known_frame* frame = top_;
    while (frame->rsp < at.rsp) --frame;
    return frame->rsp == at.rsp && frame->path == at.path && ((frame->rbp ^ at.rbp) & at.rbp_mask) == 0 &&
           HL_LIKELY(innermost_change(words_ + frame->words_end - 1) == words_);
  }

  // The frames of the last walk up to what it knew, if nothing but the innermost one's state and some words determines
  // them: that frame, the one that was known, and those words.
  struct walked_part {
    const known_frame& innermost;
    const known_frame& outer;          // the same one: there is no such part
    const stack_read* innermost_word;  // the others before it
  };
  walked_part last_walked() const { return {*top_, *(top_ - known_by_words_), innermost_word_}; }

  // Of the last walk: its path; its node in the stack tree, added if need be, for which signals must be blocked;
  // whether and why it ends early. append_node() takes no lock: given the node of the stack walked before (0: not
  // known), a new node, or 0, and then it is node() that finds one.
  std::uint64_t path() const { return HL_LIKELY(depth_limit_ == 0) ? top_->path : limited_path(); }
  std::uint32_t node();
  std::uint32_t append_node(std::uint32_t node_before) const;
  void prefetch_node() const;  // what append_node() will wait for
  stack_cut cut() const { return too_deep() ? stack_cut::depth : cut_; }

 private:
  // The innermost of the words, from the given one outward, that is not what it was; words_ itself never is. Inner
  // words first: each read is justified by the words before it.
  HL_HOT static const stack_read* innermost_change(const stack_read* word) {
    const auto same = [&word](int out) { return HL_LIKELY(*word[-out].address == word[-out].value); };
    for (;; word -= 4) {  // jumps that are not taken leave the processor's memory of jumps to others
      if (!same(0)) return word;
      if (!same(1)) return word - 1;
      if (!same(2)) return word - 2;
      if (!same(3)) return word - 3;
    }
  }

  template <bool ByFramePointers>
  HL_HOT void walk_by(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);
  void walk_by_frame_pointers(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);

  // What a walk has come to, where it takes more than its fast path (odd_walk.cpp).
  struct progress {
    frame_state state;   // of the frame reached
    known_frame* kept;   // the innermost frame that may still be part of the stack
    walked_frame* next;  // the place of the next frame walked
  };
  HL_COLD void keep_inside(progress& walk, const stack_read* changed);
  bool make_room(progress& walk);
  HL_COLD bool odd_step(progress& walk, const frame_state& caller);
  step_end step_by_rule(rule how, progress& walk);
  step_end step_by_frame_pointer(progress& walk);
  bool full_walk(const frame_state& caller, progress& walk);
  void end_at_root(progress& walk);
  HL_COLD known_frame* remember_all(known_frame* kept, const walked_frame* end);
  void place(void* memory, std::uint32_t capacity);
  bool grow(progress& walk);

  // The walk is at its end if the words outside are what they were: while they are compared, the path's entry comes.
  HL_HOT void prefetch_path(const known_frame* kept, const walked_frame* end) const {
    std::uint64_t path = kept->path;
    while (end != walked_) path = path_below(path, (--end)->state.pc);
    __builtin_prefetch(paths_ + (path >> paths_shift_) * path_place_bytes, 1);
  }
  HL_HOT void remember(known_frame* kept, const walked_frame* end, unsigned through);
  known_frame* remember_by_rbp(known_frame* kept, const walked_frame* end);
  template <bool ByRbp>
  HL_HOT known_frame* remember_frames(known_frame* kept, const walked_frame* end);
  HL_HOT bool words_fit(const known_frame* kept, std::uint64_t count) const {
    return HL_LIKELY(kept->words_end + count < 2 * std::uint64_t{capacity_});
  }
  HL_HOT const walked_frame* room_beside(const known_frame* kept) const {
    return walked_ + (capacity_ - 2 - (kept - frames_));  // kept frames only become fewer
  }

  // The root stands outside all frames: no state is its, and nothing lies outside it.
  known_frame* root() const { return frames_; }
  static constexpr std::ptrdiff_t most_steps_out = 64;
  bool too_deep() const { return depth_limit_ != 0 && top_ - root() > depth_limit_; }
  known_frame* outermost_counted() const { return too_deep() ? top_ + 1 - depth_limit_ : root() + 1; }
  std::uint64_t limited_path() const;

  // Of the innermost frame, side by side.
  std::uint64_t pc_ = 0;  // 0: the same as no caller's
  std::uint64_t rsp_ = 0;
  std::uint64_t rbp_ = 0;
  std::uint64_t rbp_mask_ = 0;  // all ones where rbp counts
  const stack_read* innermost_word_ = nullptr;
  stack_read* words_ = nullptr;      // that the steps read, from the root inward; the first is none
  known_frame* top_ = nullptr;       // the innermost
  known_frame* frames_ = nullptr;    // from the root inward
  known_frame* before_ = nullptr;    // the innermost one of the walk before
  known_frame* kept_ = nullptr;      // the innermost one that was known to the last walk
  walked_frame* walked_ = nullptr;   // the frames just walked, innermost first
  stack_read* new_reads_ = nullptr;  // of recorded frames just walked, innermost first
  std::uint32_t new_read_count_ = 0;
  std::uint32_t known_by_words_ = 0;  // of frames walked last, if their words tell them
  std::uint32_t capacity_ = 0;        // of each of the arrays, in frames
  std::uint32_t depth_limit_ = 0;
  std::uint32_t paths_shift_ = 63;
  const char* paths_ = nullptr;
  stack_cut cut_ = stack_cut::none;
  bool frame_pointers_ = false;
  bool guesses_ = false;  // where there is no rule, by frame pointers
  bool unsure_ = false;   // what the last walk read is not known, so that the next must not rely on it
};

}  // namespace heapledger::probe

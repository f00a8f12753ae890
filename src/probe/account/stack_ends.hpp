// Inner ends of stacks that a thread met lately, and their accounts. Two or three places of a program that allocate in
// turn make as many walks, though each finds what it found the time before: here it is enough to look at the words that
// the walk would read.
//
// An end is known by the frame that called the hook and by the words that the steps from there outward read, all of
// them steps that begin with nothing but rsp. It leads to a frame outside it, told by its rsp and its path; whether
// that is where it was is asked of the remembered stack. So this is as exact as a walk.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/unwind/stack_walk.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

struct alignas(64) stack_end {
  static constexpr std::uint32_t most_words = 9;

  std::uint64_t pc, rsp;
  std::uint64_t outer_rsp, outer_path;
  wire::cell* cell;  // the thread's own
  std::uint32_t account;
  std::uint32_t count;
  stack_read words[most_words];  // innermost first
};
static_assert(sizeof(stack_end) == 192);

class stack_ends {
 public:
  // Knows nothing; where it may learn, it begins to once there were walks enough.
  void init(bool teachable);

  HL_HOT const stack_end* find(const stack_walk& stack, std::uint64_t pc, std::uint64_t rsp) {
    const stack_end& known = place(pc, rsp);
    if (known.pc != pc || known.rsp != rsp) return nullptr;
    const stack_read* word = known.words;
    for (const stack_read* const end = word + known.count; word != end; ++word)
      if (*word->address != word->value) return nullptr;
    if (HL_UNLIKELY(!stack.unchanged_from(known.outer_rsp, known.outer_path))) return nullptr;
    credit_ += found_credit;
    return &known;
  }

  // After a walk: the account of the stack, and the cell in which this thread books it for good.
  HL_HOT void learn(const stack_walk& stack, std::uint32_t account, wire::cell* cell) {
    if (HL_LIKELY(--credit_ > 0))
      add(stack, account, cell);
    else if (credit_ == 0 || credit_ < -paused_walks)
      begin_or_pause();
  }

  void forget();

 private:
  static constexpr unsigned bits = 8;
  // Where fewer than half of the walks are saved, the looks cost more than they save: it pauses.
  static constexpr std::int64_t found_credit = 1, first_credit = 512, most_credit = 4096, first_walks = 4096,
                                paused_walks = 65536;

  stack_end& place(std::uint64_t pc, std::uint64_t rsp) const {
    return ends_[((pc ^ rsp << 20) * 0x9e3779b97f4a7c15u) >> shift_];
  }
  void add(const stack_walk& stack, std::uint32_t account, wire::cell* cell);
  void pause();
  HL_COLD void begin_or_pause();

  stack_end* ends_;
  unsigned shift_;
  std::int64_t credit_;  // below zero: it knows nothing, and this many walks were made meanwhile
  stack_end* table_;     // nullptr until it is needed
  bool teachable_;
};

}  // namespace heapledger::probe

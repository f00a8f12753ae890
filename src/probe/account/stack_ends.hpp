// Inner ends of stacks that a thread met lately, with the stacks' paths and accounts. Two or three places of a program
// that allocate in turn make as many walks, though each finds what it found the time before: here it is enough to look
// at the words that the walk would read.
//
// An end is known by the frame that called the hook and by the words that the steps from there outward read; by that
// frame's rbp only where one of them, or something outside, is found by it. It leads to a frame outside it; whether
// that is where it was is asked of the remembered stack. So this is as exact as a walk.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/unwind/stack_walk.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

struct alignas(64) stack_end {
  static constexpr std::uint32_t most_words = 14;

  std::uint64_t pc, rsp;
  std::uint64_t rbp, rbp_mask;  // all ones where rbp counts
  // Where the stack is booked, in the scope of which this is known (0: outside scopes).
  wire::cell* cell;       // of the account, if it is the thread's own; else nullptr
  std::uint32_t account;  // 0: not known
  std::uint32_t word_count;
  std::uint64_t scope;
  std::uint64_t path;  // of the whole stack
  stack_walk::junction outer;
  stack_read words[most_words];  // innermost first
};
// An odd number of cache lines: with an even one the first lines of all would share half of a cache's sets, or fewer.
static_assert(sizeof(stack_end) == 320);

class stack_ends {
 public:
  // Knows nothing, and begins to learn once there were walks enough.
  void init();

  HL_HOT stack_end* find(const stack_walk& stack, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
    stack_end& known = place(pc, rsp);
    if (known.pc != pc || known.rsp != rsp || ((known.rbp ^ rbp) & known.rbp_mask) != 0) return nullptr;
    const stack_read* word = known.words;
    for (const stack_read* const end = word + known.word_count; word != end; ++word)
      if (*word->address != word->value) return nullptr;
    if (HL_UNLIKELY(!stack.unchanged_from(known.outer))) return nullptr;
    credit_ += found_credit;
    return &known;
  }

  // After a walk: the path of the stack, and where this thread books it for good in its scope.
  HL_HOT void learn(const stack_walk& stack, std::uint64_t path, std::uint64_t scope, std::uint32_t account,
                    wire::cell* cell) {
    if (HL_LIKELY(--credit_ > 0))
      add(stack, path, scope, account, cell);
    else if (credit_ == 0 || credit_ < -paused_walks_)
      begin_or_pause();
  }

  void forget();

 private:
  static constexpr unsigned bits = 8;
  // Where fewer than half of the walks are saved, the looks cost more than they save: it pauses, each time for twice as
  // many walks, until it was of use again.
  static constexpr std::int64_t found_credit = 1, first_credit = 512, most_credit = 4096, shortest_pause = 4096,
                                longest_pause = 65536;

  stack_end& place(std::uint64_t pc, std::uint64_t rsp) const {
    return ends_[((pc ^ rsp << 20) * 0x9e3779b97f4a7c15u) >> shift_];
  }
  void add(const stack_walk& stack, std::uint64_t path, std::uint64_t scope, std::uint32_t account, wire::cell* cell);
  void pause();
  HL_COLD void begin_or_pause();

  stack_end* ends_;
  unsigned shift_;
  std::int64_t credit_;  // below zero: it knows nothing, and this many walks were made meanwhile
  std::int64_t paused_walks_;
  stack_end* table_;  // nullptr until it is needed
};

}  // namespace heapledger::probe

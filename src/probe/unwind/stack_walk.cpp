#include "probe/unwind/stack_walk.hpp"

#include "probe/unwind/stack_bounds.hpp"

namespace heapledger::probe {
namespace {

// Whether the state reached is that of the remembered frame.
HL_HOT bool matches(const known_frame& known, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  return known.rsp == rsp && known.pc == pc && (known.rbp == rbp || (known.made.flags() & needs_rbp) == 0);
}

HL_HOT bool near(std::uint64_t cfa, std::uint64_t rsp) {
  return cfa - rsp - 8 <= unchecked_frame_bytes && (cfa & 7) == 0;
}

// What has no unwind information is no code: the word next to what rbp pointed to was no return address.
HL_HOT std::uint64_t framed_return(std::uint64_t cfa) {
  const std::uint64_t back = stack_word(cfa - 8);
  return rules.find(back).kind() != rule_kind::unknown ? back : 0;
}

}  // namespace

// The walked frames up to `end` come inside of `kept`. ByRbp: some of them, or what is outside, may be found by rbp.
template <bool ByRbp>
HL_HOT known_frame* stack_walk::remember_frames(known_frame* kept, const walked_frame* end) {
  std::uint64_t path = kept->path, pc = kept->pc, rsp = kept->rsp, rbp = kept->rbp;
  std::uint32_t words_end = kept->words_end;
  stack_read* word = words_ + words_end;
  unsigned need = kept->made.flags() & needs_rbp;
  const auto compare = [&word, &words_end](std::uint64_t address, std::uint64_t value) {
    word->address = reinterpret_cast<const std::uint64_t*>(address);
    word++->value = value;
    ++words_end;
  };
  while (end != walked_) {
    --end;
    if constexpr (ByRbp) {
      const bool saved = end->made.rbp_offset() != 0;
      if (saved && need != 0) compare(rsp + end->made.rbp_offset(), rbp);
      need = (end->made.flags() & uses_rbp) != 0 ? unsigned{needs_rbp} : saved ? 0 : need;
    }
    compare(rsp - 8, pc);
    pc = end->state.pc;
    rsp = end->state.rsp;
    path = path_below(path, pc);
    ++kept;
    kept->pc = pc;
    kept->rsp = rsp;
    if constexpr (ByRbp) kept->rbp = rbp = end->state.rbp;
    kept->path = path;
    kept->node = 0;
    kept->words_end = words_end;
    kept->made = ByRbp ? end->made.needing(need) : end->made;
  }
  return kept;
}

// Its own function: beside the other one in walk() it took registers from the loop there.
[[gnu::noinline]] known_frame* stack_walk::remember_by_rbp(known_frame* kept, const walked_frame* end) {
  return remember_frames<true>(kept, end);
}

// Frames of the last walk stay up to `kept`.
HL_HOT void stack_walk::remember(known_frame* kept, const walked_frame* end, unsigned through) {
  const auto count = static_cast<std::uint64_t>(end - walked_);
  before_ = top_;
  kept_ = kept;
  known_by_words_ = through < stayed ? static_cast<std::uint32_t>(count) : 0;
  if (HL_LIKELY((through | (kept->made.flags() & needs_rbp)) == by_rsp) && words_fit(kept, count)) {
    kept = remember_frames<false>(kept, end);
  } else if (HL_LIKELY(through < odd) && words_fit(kept, 2 * count)) {
    kept = remember_by_rbp(kept, end);
  } else {
    kept = remember_all(kept, end);
    known_by_words_ = 0;
  }
  top_ = kept;
  pc_ = kept->pc;
  rsp_ = kept->rsp;
  rbp_ = kept->rbp;
  rbp_mask_ = kept->rbp_mask();
  innermost_word_ = words_ + kept->words_end - 1;
}

// ByFramePointers: whatever the code's rules say.
template <bool ByFramePointers>
HL_HOT void stack_walk::walk_by(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  const frame_state caller{pc, rsp, rbp};
  const std::uint64_t stack_end = ByFramePointers ? end_of_stack(rsp) : 0;
  if (HL_UNLIKELY(unsure_)) forget();
  known_frame* kept = top_;
  walked_frame* next = walked_;
  const walked_frame* limit = room_beside(kept);
  unsigned through = by_rsp;
  // What is rare is done elsewhere, with a copy: these variables stay in registers.
  const auto elsewhere = [&](walked_through what, auto&& rare) {
    progress walk{{pc, rsp, rbp}, kept, next};
    const bool on = rare(walk);
    pc = walk.state.pc;
    rsp = walk.state.rsp;
    rbp = walk.state.rbp;
    kept = walk.kept;
    next = walk.next;
    limit = room_beside(kept);
    through |= what;
    return on;
  };
  new_read_count_ = 0;
  for (;;) {
    while (kept->rsp < rsp) --kept;
    if (matches(*kept, pc, rsp, rbp)) {
      prefetch_path(kept, next);
      const stack_read* changed = innermost_change(words_ + kept->words_end - 1);
      if (HL_LIKELY(changed == words_)) break;
      elsewhere(stayed, [&](progress& walk) { return keep_inside(walk, changed), true; });
    }
    std::uint64_t cfa, back = 0;
    if (HL_LIKELY(next < limit)) {
      const rule how = ByFramePointers ? frame_pointer_rule : rules.find(pc);
      next->state.pc = pc;
      next->state.rsp = rsp;
      next->state.rbp = rbp;
      if (HL_LIKELY(how.kind() == rule_kind::from_rsp)) {
        cfa = rsp + how.cfa_offset();
        back = stack_word(cfa - 8);
        next->made = step_made(how);
      } else if (cfa = rbp + how.cfa_offset(); how.kind() == rule_kind::from_rbp && near(cfa, rsp)) {
        back = !ByFramePointers ? stack_word(cfa - 8) : cfa <= stack_end ? framed_return(cfa) : 0;
        next->made = step_made(how, uses_rbp);
        through |= by_rbp;
      }
    }
    if (HL_LIKELY(back >= lowest_code)) {
      pc = back;
      rsp = cfa;
      if (const std::int64_t saved = next->made.rbp_offset(); saved != 0) rbp = stack_word(cfa + saved);
      ++next;
    } else if (!elsewhere(odd, [&](progress& walk) { return odd_step(walk, caller); })) {
      break;
    }
  }
  remember(kept, next, through);
  if (HL_UNLIKELY(unsure_)) pc_ = 0;
}

[[gnu::noinline]] void stack_walk::walk_by_frame_pointers(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  walk_by<true>(pc, rsp, rbp);
}

void stack_walk::walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  if (HL_LIKELY(!frame_pointers_))
    walk_by<false>(pc, rsp, rbp);
  else
    walk_by_frame_pointers(pc, rsp, rbp);
}

}  // namespace heapledger::probe

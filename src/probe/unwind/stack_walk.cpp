#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {
namespace {

// Whether the state reached is that of the remembered frame.
HL_HOT bool matches(const known_frame& known, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  return known.rsp == rsp && known.pc == pc && (known.rbp == rbp || (known.made.flags() & needs_rbp) == 0);
}

HL_HOT bool near(std::uint64_t cfa, std::uint64_t rsp) {
  return cfa - rsp - 8 <= unchecked_frame_bytes && (cfa & 7) == 0;
}

}  // namespace

// Frames of the last walk stay up to `kept`; the walked ones, up to `end`, come inside of them. `plainly`: all by steps
// that did not begin with rbp.
HL_HOT void stack_walk::remember(known_frame* kept, const walked_frame* end, bool plainly) {
  before_ = top_;
  kept_ = kept;
  if (HL_UNLIKELY(!plainly || (kept->made.flags() & needs_rbp) != 0 ||
                  kept->words_end + static_cast<std::uint64_t>(end - walked_) >= 2 * capacity_)) {
    kept = remember_all(kept, end);
    plain_count_ = 0;
  } else {
    std::uint64_t path = kept->path, pc = kept->pc, rsp = kept->rsp;
    std::uint32_t words_end = kept->words_end;
    stack_read* word = words_ + words_end;
    plain_count_ = static_cast<std::uint32_t>(end - walked_);
    while (end != walked_) {
      --end;
      word->address = reinterpret_cast<const std::uint64_t*>(rsp - 8);
      word++->value = pc;
      pc = end->state.pc;
      rsp = end->state.rsp;
      path = path_below(path, pc);
      ++kept;
      kept->pc = pc;
      kept->rsp = rsp;
      kept->path = path;
      kept->node = 0;
      kept->words_end = ++words_end;
      kept->made = end->made;
    }
  }
  top_ = kept;
  pc_ = kept->pc;
  rsp_ = kept->rsp;
  rbp_ = kept->rbp;
  rbp_mask_ = (kept->made.flags() & needs_rbp) != 0 ? ~std::uint64_t{0} : 0;
  innermost_word_ = words_ + kept->words_end - 1;
}

void stack_walk::walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  const frame_state caller{pc, rsp, rbp};
  if (HL_UNLIKELY(unsure_)) forget();
  known_frame* kept = top_;
  walked_frame* next = walked_;
  const walked_frame* plain_limit = plain_end(kept);
  bool plainly = true;
  // What is rare is done elsewhere, with a copy: these variables stay in registers.
  const auto elsewhere = [&](auto&& rare) {
    progress walk{{pc, rsp, rbp}, kept, next};
    const bool on = rare(walk);
    pc = walk.state.pc;
    rsp = walk.state.rsp;
    rbp = walk.state.rbp;
    kept = walk.kept;
    next = walk.next;
    plain_limit = plain_end(kept);
    plainly = false;
    return on;
  };
  new_read_count_ = 0;
  for (;;) {
    while (kept->rsp < rsp) --kept;
    if (matches(*kept, pc, rsp, rbp)) {
      prefetch_path(kept, next);
      const stack_read* changed = innermost_change(words_ + kept->words_end - 1);
      if (HL_LIKELY(changed == words_)) break;
      elsewhere([&](progress& walk) { return keep_inside(walk, changed), true; });
    }
    std::uint64_t cfa, back = 0;
    if (HL_LIKELY(next < plain_limit)) {
      const rule how = rules.find(pc);
      next->state.pc = pc;
      next->state.rsp = rsp;
      next->state.rbp = rbp;
      if (HL_LIKELY(how.kind() == rule_kind::from_rsp)) {
        cfa = rsp + how.cfa_offset();
        back = stack_word(cfa - 8);
        next->made = step_made(how);
      } else if (cfa = rbp + how.cfa_offset(); how.kind() == rule_kind::from_rbp && near(cfa, rsp)) {
        back = stack_word(cfa - 8);
        next->made = step_made(how, uses_rbp);
        plainly = false;
      }
    }
    if (HL_LIKELY(back >= lowest_code)) {
      pc = back;
      rsp = cfa;
      if (const std::int64_t saved = next->made.rbp_offset(); saved != 0) rbp = stack_word(cfa + saved);
      ++next;
    } else if (!elsewhere([&](progress& walk) { return odd_step(walk, caller); })) {
      break;
    }
  }
  remember(kept, next, plainly);
  if (HL_UNLIKELY(unsure_)) pc_ = 0;
}

}  // namespace heapledger::probe

#include "probe/unwind/stack_walk.hpp"

#include "probe/unwind/stack_bounds.hpp"

namespace heapledger::probe {
namespace {

constexpr rule frame_pointer_rule{.kind = rule_kind::from_rbp, .rbp_saved = true, .rbp_words = -2, .cfa_words = 2};

stack_cut cut_of(step_end end, const frame_state& state) {
  switch (end) {
    case step_end::no_rule:
      return at_process_start(state.rsp) ? stack_cut::none : stack_cut::no_rule;
    case step_end::bounds:
    case step_end::needs_registers:
      return stack_cut::bounds;
    default:
      return stack_cut::none;
  }
}

// The step of a plain rule whose frame looks as frames do. False: not taken.
HL_HOT bool plain_step(rule how, walked_frame& frame, std::uint64_t& pc, std::uint64_t& rsp, std::uint64_t& rbp) {
  const bool by_rbp = how.kind == rule_kind::from_rbp;
  const std::uint64_t cfa = (by_rbp ? rbp : rsp) + how.cfa_offset();
  if (HL_UNLIKELY(!how.plain() || cfa - rsp - 8 > unchecked_frame_bytes || (cfa & 7) != 0)) return false;
  const std::uint64_t back = stack_word(cfa - 8);
  if (HL_UNLIKELY(back < lowest_code)) return false;
  frame.rbp_offset = static_cast<std::int16_t>(how.rbp_offset());
  frame.flags = by_rbp ? uses_rbp : 0;
  frame.read_count = 0;
  pc = back;
  rsp = cfa;
  if (how.rbp_saved) rbp = stack_word(cfa + how.rbp_offset());
  return true;
}

}  // namespace

bool stack_walk::reads_unchanged(const known_frame& frame) const {
  for (std::uint32_t i = (&frame)[-1].reads_end; i != frame.reads_end; ++i)
    if (*reads_[i].address != reads_[i].value) return false;
  return true;
}

const known_frame* stack_walk::innermost_change_of_more(const known_frame* frame) const {
  for (;; --frame) {
    const known_frame& outer = frame[-1];
    if (HL_UNLIKELY((frame->flags & recorded) != 0)) {
      if (!reads_unchanged(*frame)) return frame;
      if ((frame->flags & last_frame) != 0) return nullptr;
      continue;
    }
    if ((frame->flags & last_frame) != 0) return nullptr;
    if (stack_word(outer.rsp - 8) != outer.pc) return frame;
    if ((frame->flags & verify_rbp) != 0 && stack_word(outer.rsp + frame->rbp_offset) != outer.rbp) return frame;
  }
}

// Frames of the last walk stay up to `kept`; the walked ones come inside of them.
HL_HOT void stack_walk::remember(known_frame* kept, std::uint32_t count) {
  while (HL_UNLIKELY(kept->reads_end + new_read_count_ > capacity_))
    if (!grow(kept)) return forget();
  std::uint64_t path = kept->path;
  std::uint32_t more = kept->more;
  std::uint32_t reads_end = kept->reads_end, new_reads_end = new_read_count_;
  unsigned need = kept->flags & needs_rbp;
  known_frame* at = kept;
  for (std::uint32_t i = count; i-- > 0;) {
    const walked_frame& frame = walked_[i];
    const bool saved = frame.rbp_offset != 0;
    const unsigned verify = saved && need != 0 ? unsigned{verify_rbp} : 0;
    need = (frame.flags & uses_rbp) != 0 ? unsigned{needs_rbp} : saved ? 0 : need;
    path = path_below(path, frame.state.pc);
    if (HL_UNLIKELY(frame.read_count != 0)) {
      new_reads_end -= frame.read_count;
      for (unsigned r = 0; r < frame.read_count; ++r) reads_[reads_end++] = new_reads_[new_reads_end + r];
    }
    const unsigned own = frame.flags & (uses_rbp | recorded | last_frame);
    more += ((own & recorded) | verify) != 0;
    *++at = {frame.state.pc,
             frame.state.rsp,
             frame.state.rbp,
             path,
             0,
             reads_end,
             more,
             frame.rbp_offset,
             static_cast<std::uint8_t>(own | need | verify)};
  }
  top_ = at;
}

void stack_walk::walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  const frame_state caller{pc, rsp, rbp};
  if (HL_UNLIKELY(unsure_)) forget();
  known_frame* kept = top_;  // the innermost frame that may still be part of the stack
  std::uint32_t count = 0;
  std::uint32_t room = 0;
  new_read_count_ = 0;
  for (;;) {
    while (kept->rsp < rsp) --kept;
    if (matches(*kept, pc, rsp, rbp)) {
      const known_frame* changed = innermost_change(kept);
      if (changed == nullptr) break;
      const std::ptrdiff_t inside = kept - changed;
      while (HL_UNLIKELY(count + inside >= capacity_))
        if (!grow(kept)) return forget();
      changed = kept - inside;
      // What lies inside the change stays, but for rbp, which was not compared where it did not count.
      for (; kept != changed && (kept->flags & recorded) == 0; --kept) {
        walked_[count++] = {{kept->pc, kept->rsp, rbp}, kept->rbp_offset, kept->flags, 0};
        if (kept->rbp_offset != 0) rbp = stack_word(kept[-1].rsp + kept->rbp_offset);
      }
      pc = kept->pc;
      rsp = kept->rsp;
      --kept;
    }
    if (HL_UNLIKELY(count >= room)) {
      const auto used = static_cast<std::uint32_t>(count + (kept - frames_) + 2);
      if (used >= capacity_ && !grow(kept)) {
        cut_ = stack_cut::depth;
        end_at_root(kept, count);
        break;
      }
      room = count + capacity_ - used;  // kept frames only become fewer
    }
    walked_frame& frame = walked_[count++];
    frame.state.pc = pc;
    frame.state.rsp = rsp;
    frame.state.rbp = rbp;
    if (HL_LIKELY(!frame_pointers_) && HL_LIKELY(plain_step(rules.find(pc), frame, pc, rsp, rbp))) continue;
    frame_state state{pc, rsp, rbp};
    const step_end end = odd_step(frame, kept, state);
    if (end == step_end::stepped) {
      pc = state.pc;
      rsp = state.rsp;
      rbp = state.rbp;
      continue;
    }
    if (end == step_end::needs_registers && full_walk(caller, count)) {
      cut_ = stack_cut::none;
      unsure_ = true;
    } else {
      cut_ = cut_of(end, state);
    }
    end_at_root(kept, count);
    break;
  }
  remember(kept, count);
  if (HL_UNLIKELY(unsure_)) top_->rsp = 0;  // the same as no caller's
}

// By frame pointers, or by a rule that is not plain.
HL_COLD step_end stack_walk::odd_step(walked_frame& frame, known_frame*& kept, frame_state& state) {
  if (!frame_pointers_) return recorded_step(rules.find(state.pc), frame, kept, state);
  frame = {state, 0, uses_rbp, 0};
  const std::uint64_t stack_end = end_of_stack(state.rsp);
  if (stack_end - (state.rbp + 16) >= stack_end - state.rsp) return step_end::bounds;
  frame_state next = state;
  // What has no unwind information is no code: the word next to what rbp pointed to was no return address.
  if (plain_step(frame_pointer_rule, frame, next.pc, next.rsp, next.rbp) &&
      rules.find(next.pc).kind != rule_kind::unknown) {
    state = next;
    return step_end::stepped;
  }
  const step_end end = recorded_step(frame_pointer_rule, frame, kept, state);
  return end == step_end::stepped ? step_end::bounds : end;
}

step_end stack_walk::recorded_step(rule how, walked_frame& frame, known_frame*& kept, frame_state& state) {
  const bool by_rbp =
      how.kind == rule_kind::from_rbp || how.kind == rule_kind::through_rbp || how.kind == rule_kind::complex;
  frame = {state, 0, static_cast<std::uint8_t>(by_rbp ? uses_rbp : 0), 0};
  const std::ptrdiff_t at = &frame - walked_;
  if (new_read_count_ + step_reads::capacity > capacity_ && !grow(kept)) return step_end::bounds;
  step_reads reads;
  frame_state next;
  const step_end end = take_step(how, state, reads, next);
  for (unsigned i = 0; i < reads.count; ++i) new_reads_[new_read_count_++] = reads.items[i];
  walked_[at].read_count = static_cast<std::uint8_t>(reads.count);
  if (reads.count != 0) walked_[at].flags |= recorded;
  if (end == step_end::stepped) state = next;
  return end;
}

}  // namespace heapledger::probe

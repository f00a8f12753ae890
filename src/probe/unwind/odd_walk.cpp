// What a walk does off its fast path: steps by frame pointers or by rules that are not plain, stacks that changed in
// the middle, ends, and frames by whose rbp others are found.
#include "probe/unwind/stack_bounds.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {
namespace {

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

// Of code without tables: a return address, if a call stands before it, or if it is near the code that returns there.
// An interpreter's may be the begin of a routine that nothing calls.
bool may_be_code(std::uint64_t address, std::uint64_t from) {
  constexpr std::uint64_t code_cache_bytes = std::uint64_t{256} << 20;
  return follows_call(address) || (address - from + code_cache_bytes < 2 * code_cache_bytes && readable(address));
}

// Code without tables that gives up its frame and returns: add $n, %rsp; ret. As the trampolines that Python makes for
// perf, one for each function, which leave rbp alone.
rule rule_by_return(std::uint64_t pc) {
  constexpr unsigned bytes = 5;
  if (!readable(pc) || !readable(pc + bytes - 1)) return rule_kind::unknown;
  const auto* const code = reinterpret_cast<const std::uint8_t*>(pc);
  const unsigned frame = code[3];
  const bool returns = code[0] == 0x48 && code[1] == 0x83 && code[2] == 0xc4 && code[4] == 0xc3;
  if (!returns || frame >= 0x80 || frame % 8 != 0) return rule_kind::unknown;
  return rule(rule_kind::from_rsp, frame / 8 + 1);
}

bool begins_with_rbp(rule how) {
  return how.kind() == rule_kind::from_rbp || how.kind() == rule_kind::through_rbp || how.kind() == rule_kind::complex;
}

}  // namespace

// A word that a remembered frame's step read has changed. What lies inside that frame stays, but for rbp, which was not
// compared where it did not count; a recorded step is taken again.
void stack_walk::keep_inside(progress& walk, const stack_read* changed) {
  const auto word = static_cast<std::uint32_t>(changed - words_);
  for (; walk.kept[-1].words_end > word && (walk.kept->made.flags() & recorded) == 0; --walk.kept) {
    const known_frame& frame = *walk.kept;
    *walk.next++ = {{frame.pc, frame.rsp, walk.state.rbp}, frame.made};
    if (frame.made.rbp_offset() != 0) walk.state.rbp = stack_word(walk.kept[-1].rsp + frame.made.rbp_offset());
  }
  walk.state.pc = walk.kept->pc;
  walk.state.rsp = walk.kept->rsp;
  --walk.kept;
}

bool stack_walk::make_room(progress& walk) {
  if (walk.next < room_beside(walk.kept) || grow(walk)) return true;
  cut_ = stack_cut::depth;
  end_at_root(walk);
  return false;
}

// Nothing is known outside the frame walked last.
void stack_walk::end_at_root(progress& walk) {
  walk.kept = root();
  if (walk.next != walked_) walk.next[-1].made = walk.next[-1].made.with(last_frame);
}

// False: the walk is at its end.
bool stack_walk::odd_step(progress& walk, const frame_state& caller) {
  if (!make_room(walk)) return false;
  rule how = frame_pointers_ ? rule(rule_kind::unknown) : rules.find(walk.state.pc);
  if (guesses_ && how.kind() == rule_kind::unknown) how = rule_by_return(walk.state.pc);
  const bool by_frame_pointer = frame_pointers_ || (guesses_ && how.kind() == rule_kind::unknown);
  const step_end end = by_frame_pointer ? step_by_frame_pointer(walk) : step_by_rule(how, walk);
  if (end == step_end::stepped) return true;
  if (end == step_end::needs_registers && full_walk(caller, walk)) {
    cut_ = stack_cut::none;
    unsure_ = true;
  } else {
    cut_ = cut_of(end, walk.state);
  }
  end_at_root(walk);
  return false;
}

step_end stack_walk::step_by_frame_pointer(progress& walk) {
  const frame_state from = walk.state;
  const std::uint64_t stack_end = end_of_stack(from.rsp);
  const step_end beyond = guesses_ ? step_end::no_rule : step_end::bounds;
  if (stack_end - (from.rbp + 16) >= stack_end - from.rsp) {
    *walk.next++ = {from, {0, uses_rbp, 0}};
    return beyond;
  }
  const std::uint64_t cfa = from.rbp + 16, back = stack_word(cfa - 8);
  const bool near = cfa - from.rsp - 8 <= unchecked_frame_bytes && (cfa & 7) == 0 && back >= lowest_code;
  // What has no unwind information is no code: the word next to what rbp pointed to was no return address. Unless that
  // is just what is looked for.
  if (near && (rules.find(back).kind() != rule_kind::unknown || (guesses_ && may_be_code(back, from.pc)))) {
    *walk.next++ = {from, step_made(frame_pointer_rule, uses_rbp)};
    walk.state = {back, cfa, stack_word(from.rbp)};
    return step_end::stepped;
  }
  const step_end end = step_by_rule(frame_pointer_rule, walk);
  return end == step_end::stepped ? beyond : end;
}

step_end stack_walk::step_by_rule(rule how, progress& walk) {
  if (new_read_count_ + step_reads::capacity > capacity_ && !grow(walk)) {
    *walk.next++ = {walk.state, {0, 0, 0}};
    return step_end::bounds;
  }
  const frame_state from = walk.state;
  step_reads reads;
  frame_state outer;
  const step_end end = take_step(how, from, reads, outer);
  for (unsigned i = 0; i < reads.count; ++i) new_reads_[new_read_count_++] = reads.items[i];
  const unsigned flags = (begins_with_rbp(how) ? unsigned{uses_rbp} : 0) | (reads.count != 0 ? unsigned{recorded} : 0);
  *walk.next++ = {from, {0, flags, reads.count}};
  if (end == step_end::stepped) walk.state = outer;
  return end;
}

known_frame* stack_walk::remember_all(known_frame* kept, const walked_frame* end) {
  auto left = static_cast<std::uint32_t>(end - walked_);
  progress room{{}, kept, walked_ + left};
  while (room.kept->words_end + 2 * left + new_read_count_ >= 2 * capacity_)
    if (!grow(room)) return kept_ = root();
  kept = kept_ = room.kept;
  std::uint64_t path = kept->path;
  std::uint32_t words_end = kept->words_end, new_reads_end = new_read_count_;
  unsigned need = kept->made.flags() & needs_rbp;
  const auto compare = [&](std::uint64_t address, std::uint64_t value) {
    words_[words_end++] = {reinterpret_cast<const std::uint64_t*>(address), value};
  };
  while (left-- > 0) {
    const auto& [state, made] = walked_[left];
    const bool saved = made.rbp_offset() != 0;
    // The words come in the order in which they were read, the last first.
    if ((made.flags() & recorded) != 0) {
      for (unsigned i = 0; i < made.read_count(); ++i) words_[words_end++] = new_reads_[--new_reads_end];
    } else if ((made.flags() & last_frame) == 0) {
      if (saved && need != 0) compare(kept->rsp + made.rbp_offset(), kept->rbp);
      compare(kept->rsp - 8, kept->pc);
    }
    need = (made.flags() & uses_rbp) != 0 ? unsigned{needs_rbp} : saved ? 0 : need;
    path = path_below(path, state.pc);
    const unsigned flags = (made.flags() & (uses_rbp | recorded | last_frame)) | need;
    *++kept = {
        state.pc, state.rsp, state.rbp, path, 0, words_end, {static_cast<std::uint16_t>(made.rbp_offset()), flags, 0}};
  }
  return kept;
}

}  // namespace heapledger::probe

#include "probe/unwind/stack_walk.hpp"

#include "probe/base/own_memory.hpp"
#include "probe/publish/stack_tree.hpp"

extern "C" void* __libc_stack_end;

namespace heapledger::probe {
namespace {

constexpr std::uint32_t initial_frames = 64;
constexpr std::uint32_t reads_per_frame = reads_per_step;
constexpr rule frame_pointer_rule{rule_kind::from_rbp, true, -16, 16};

std::size_t bytes_for(std::uint32_t frames) {
  return frames * (sizeof(known_frame) + reads_per_frame * sizeof(stack_read) + sizeof(frame_step));
}

// The code at which the kernel starts a process (_dl_start_user, without unwind information) is where its stacks end:
// nothing lies outside it but the arguments.
bool at_process_start(const frame_state& state) {
  constexpr std::uint64_t alignment_room = 64;
  return reinterpret_cast<std::uint64_t>(__libc_stack_end) - state.rsp <= alignment_room;
}

// The end of the stack that holds `rsp`. Frame pointers are followed no further: in code built without them rbp holds
// anything, often the address of a readable heap node. On a stack that is not the thread's own (a fiber's, a signal
// handler's) the end is not known, and a guess.
std::uint64_t end_of_stack(std::uint64_t rsp) {
  constexpr std::uint64_t largest_stack = std::uint64_t{1} << 32, guess = 64 * 1024;
  const auto thread = reinterpret_cast<std::uint64_t>(__builtin_thread_pointer());  // glibc keeps it above the stack
  const auto main = reinterpret_cast<std::uint64_t>(__libc_stack_end);
  if (thread - rsp < largest_stack) return thread;
  return main - rsp < largest_stack ? main : rsp + guess;
}

stack_cut cut_of(step_end end, const frame_state& state) {
  switch (end) {
    case step_end::no_rule:
      return at_process_start(state) ? stack_cut::none : stack_cut::no_rule;
    case step_end::bounds:
    case step_end::needs_registers:
      return stack_cut::bounds;
    default:
      return stack_cut::none;
  }
}

}  // namespace

std::size_t stack_walk::initial_bytes() {
  return bytes_for(initial_frames) + child_cache::initial_bytes();
}

void stack_walk::init(void* memory, std::uint32_t depth_limit, bool frame_pointers) {
  capacity_ = initial_frames;
  frames_ = static_cast<known_frame*>(memory);
  reads_ = reinterpret_cast<stack_read*>(frames_ + capacity_);
  steps_ = reinterpret_cast<frame_step*>(reads_ + capacity_ * reads_per_frame);
  children_.init(static_cast<char*>(memory) + bytes_for(initial_frames));
  depth_limit_ = depth_limit;
  frame_pointers_ = frame_pointers;
  forget();
}

// The old arrays stay mapped when they were part of the thread's first block; later ones are given back.
bool stack_walk::grow() {
  const std::uint32_t wanted = capacity_ * 2;
  if (wanted > frames_limit) return false;
  void* memory = own_map(bytes_for(wanted));
  if (memory == nullptr) return false;
  const auto* old_frames = frames_;
  auto* frames = static_cast<known_frame*>(memory);
  auto* reads = reinterpret_cast<stack_read*>(frames + wanted);
  auto* steps = reinterpret_cast<frame_step*>(reads + wanted * reads_per_frame);
  __builtin_memcpy(frames, frames_, capacity_ * sizeof(known_frame));
  __builtin_memcpy(reads, reads_, capacity_ * reads_per_frame * sizeof(stack_read));
  __builtin_memcpy(steps, steps_, capacity_ * sizeof(frame_step));
  if (capacity_ != initial_frames) own_unmap(const_cast<known_frame*>(old_frames), bytes_for(capacity_));
  frames_ = frames;
  reads_ = reads;
  steps_ = steps;
  capacity_ = wanted;
  return true;
}

std::uint32_t stack_walk::frame_with_read(std::uint32_t read, std::uint32_t from) const {
  while (frames_[from].reads_begin > read) --from;
  return from;
}

void stack_walk::copy_step(std::uint32_t frame, frame_step& step) const {
  const known_frame& known = frames_[frame];
  step.from = {known.pc, known.rsp, known.rbp};
  step.rbp_is_free = (known.node & rbp_free_bit) != 0;
  step.read_count = 0;
  for (std::uint32_t i = reads_end(frame); i-- > known.reads_begin;) step.reads[step.read_count++] = reads_[i];
}

std::uint32_t stack_walk::walk(std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  const frame_state caller{pc, rsp, rbp};
  std::uint32_t steps = 0;
  std::uint32_t kept = count_;  // remembered frames that may still be part of the stack
  frame_state state = caller;
  stack_cut cut = stack_cut::none;
  const std::uint64_t stack_end = frame_pointers_ ? end_of_stack(rsp) : 0;
  for (;;) {
    while (kept != 0 && frames_[kept - 1].rsp < state.rsp) --kept;
    if (kept != 0 && matches(frames_[kept - 1], state)) {
      const std::uint32_t different = first_difference(reads_end(kept - 1));
      if (different == no_difference) {
        cut = cut_;
        break;
      }
      const std::uint32_t frame = frame_with_read(different, kept - 1);
      while (steps + (kept - frame) > capacity_)
        if (!grow()) return forget(), 0;
      for (; kept - 1 > frame; --kept) copy_step(kept - 1, steps_[steps++]);
      state = {frames_[frame].pc, frames_[frame].rsp, frames_[frame].rbp};
      kept = frame;
    }
    if (HL_UNLIKELY(steps + kept + 1 >= capacity_) && !grow()) {
      cut = stack_cut::depth;
      kept = 0;
      break;
    }
    frame_step& step = steps_[steps++];
    step.from = state;
    const bool exact = HL_UNLIKELY((state.pc & wire::node_exact_address) != 0);
    const rule how = frame_pointers_ ? frame_pointer_rule : rules.find(state.pc & ~wire::node_exact_address, !exact);
    step.rbp_is_free = !how.needs_rbp();
    step_end end = step_end::bounds;
    if (!frame_pointers_ || stack_end - (state.rbp + 16) < stack_end - state.rsp) end = take_step(how, step, state);
    if (frame_pointers_ && end == step_end::stepped && rules.find(state.pc, true).kind == rule_kind::unknown)
      end = step_end::bounds;  // no code: the word next to what rbp pointed to was no return address
    if (HL_LIKELY(end == step_end::stepped)) continue;
    kept = 0;
    if (end == step_end::needs_registers && full_walk(caller, steps)) {
      const std::uint32_t node = remember(0, steps);
      forget();  // its reads are not known, so the next walk must not rely on it
      return node;
    }
    cut = cut_of(end, step.from);
    break;
  }
  cut_ = cut;
  return remember(kept, steps);
}

// Frames of the last walk stay up to `kept`; the steps, innermost first, come on top of them.
std::uint32_t stack_walk::remember(std::uint32_t kept, std::uint32_t step_count) {
  read_count_ = kept == 0 ? 0 : reads_end(kept - 1);
  count_ = kept;
  std::uint32_t node = kept == 0 ? 0 : frames_[kept - 1].node & ~rbp_free_bit;
  const bool limited = depth_limit_ != 0;
  for (std::uint32_t i = step_count; i-- > 0;) {
    const frame_step& step = steps_[i];
    if (!limited) node = children_.child(node, step.from.pc);
    frames_[count_++] = {step.from.pc, step.from.rsp, step.from.rbp, node | (step.rbp_is_free ? rbp_free_bit : 0),
                         read_count_};
    for (unsigned r = step.read_count; r-- > 0;) reads_[read_count_++] = step.reads[r];
  }
  return limited ? limited_node() : node;
}

// With a depth limit the innermost frames count from the root, so every depth has nodes of its own.
std::uint32_t stack_walk::limited_node() {
  const std::uint32_t skip = count_ > depth_limit_ ? count_ - depth_limit_ : 0;
  std::uint32_t node = 0;
  for (std::uint32_t i = skip; i < count_; ++i) node = children_.child(node, frames_[i].pc);
  frames_[count_ - 1].node = node | (frames_[count_ - 1].node & rbp_free_bit);
  if (skip != 0) cut_ = stack_cut::depth;
  return node;
}

}  // namespace heapledger::probe

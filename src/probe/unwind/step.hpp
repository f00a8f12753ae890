// One step outward: from the state of a frame to the state of its caller. What the step read from the stack is
// recorded, because a later walk that finds the same words there need not be made.
#pragma once

#include "probe/unwind/rule_cache.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

// Everything outside a frame follows from its state and memory. `pc` has wire::node_exact_address set where a signal
// interrupted it.
struct frame_state {
  std::uint64_t pc;
  std::uint64_t rsp;  // after the return to pc
  std::uint64_t rbp;
};

struct stack_read {
  const std::uint64_t* address;
  std::uint64_t value;
};
inline constexpr unsigned reads_per_step = 4;

enum class step_end : std::uint8_t {
  stepped,
  outermost,        // the program's own first frame
  no_rule,          // code without unwind information
  bounds,           // the next frame would not be in readable memory
  needs_registers,  // the row refers to a register other than rsp and rbp
};

struct frame_step {
  frame_state from;
  std::uint8_t read_count;
  bool rbp_is_free;  // the step does not depend on from.rbp
  stack_read reads[reads_per_step];

  std::uint64_t read(std::uint64_t address) {
    const auto* pointer = reinterpret_cast<const std::uint64_t*>(address);
    const std::uint64_t value = *pointer;
    reads[read_count++] = {pointer, value};
    return value;
  }
};

// Asks the kernel: no signal, whatever the address.
bool readable(std::uint64_t address);
step_end complex_step(frame_step& step, frame_state& next);

// Frames beyond this distance are looked at before they are read: rbp may hold anything in code whose unwind
// information is wrong.
inline constexpr std::uint64_t unchecked_frame_bytes = 16 * 1024;

HL_HOT step_end take_step(rule how, frame_step& step, frame_state& next) {
  std::uint64_t cfa;
  const frame_state& from = step.from;
  step.read_count = 0;
  switch (how.kind) {
    case rule_kind::from_rsp:
      cfa = from.rsp + how.cfa_offset;
      break;
    case rule_kind::from_rbp:
      cfa = from.rbp + how.cfa_offset;
      if (HL_UNLIKELY(cfa - from.rsp - 8 > unchecked_frame_bytes || (cfa & 7) != 0) &&
          (cfa <= from.rsp || (cfa & 7) != 0 || !readable(cfa - 16)))
        return step_end::bounds;
      break;
    case rule_kind::through_rbp:
      if (from.rbp - from.rsp > unchecked_frame_bytes || (from.rbp & 7) != 0) return step_end::bounds;
      cfa = step.read(from.rbp + how.cfa_offset);
      if (cfa - from.rsp - 8 > unchecked_frame_bytes && (cfa <= from.rsp || !readable(cfa - 8)))
        return step_end::bounds;
      break;
    case rule_kind::complex:
      return complex_step(step, next);
    case rule_kind::end:
      return step_end::outermost;
    default:
      return step_end::no_rule;
  }
  next.pc = step.read(cfa - 8);
  next.rsp = cfa;
  next.rbp = from.rbp;
  if (how.rbp_saved) next.rbp = step.read((how.kind == rule_kind::through_rbp ? from.rbp : cfa) + how.rbp_offset);
  return HL_LIKELY(next.pc > 4096) ? step_end::stepped : step_end::outermost;
}

}  // namespace heapledger::probe

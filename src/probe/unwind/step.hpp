// One step outward, from the state of a frame to the state of its caller, where it takes more than the two reads of a
// plain rule (stack_walk.cpp takes those itself). What the step read is recorded, because a later walk that finds the
// same words there need not be made.
#pragma once

#include "probe/unwind/rule_cache.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

// Everything outside a frame follows from its state and memory. `pc` has wire::place_exact_address set where a signal
// interrupted it.
struct frame_state {
  std::uint64_t pc;
  std::uint64_t rsp;  // after the return to pc
  std::uint64_t rbp;
};

inline std::uint64_t stack_word(std::uint64_t address) {
  return *reinterpret_cast<const std::uint64_t*>(address);
}

struct stack_read {
  const std::uint64_t* address;
  std::uint64_t value;
};

struct step_reads {
  static constexpr unsigned capacity = 4;
  stack_read items[capacity];
  unsigned count = 0;

  std::uint64_t read(std::uint64_t address) {
    const auto* pointer = reinterpret_cast<const std::uint64_t*>(address);
    const std::uint64_t value = *pointer;
    items[count++] = {pointer, value};
    return value;
  }
};

enum class step_end : std::uint8_t {
  stepped,
  outermost,        // the program's own first frame
  no_rule,          // code without unwind information
  bounds,           // the next frame would not be in readable memory
  needs_registers,  // the row refers to a register other than rsp and rbp
};

// No word below it is a return address.
inline constexpr std::uint64_t lowest_code = 4097;

// Asks the kernel: no signal, whatever the address.
bool readable(std::uint64_t address);

step_end take_step(rule how, const frame_state& from, step_reads& reads, frame_state& next);
step_end complex_step(const frame_state& from, step_reads& reads, frame_state& next);

}  // namespace heapledger::probe

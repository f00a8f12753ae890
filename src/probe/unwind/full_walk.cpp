// The walk for stacks on which some row refers to a register other than rsp and rbp (glibc's lazy binding keeps its
// CFA in rbx): it starts in the probe itself, whose own unwind information recovers every callee-saved register.
#include "probe/unwind/expression.hpp"
#include "probe/unwind/find_row.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {
namespace {

struct machine_state {
  std::uint64_t registers[cfi::register_count];
  bool exact;
};

bool read_word(std::uint64_t address, std::uint64_t& value) {
  if (!readable(address)) return false;
  value = *reinterpret_cast<const std::uint64_t*>(address);
  return true;
}

bool run(cfi::bytes code, const std::uint64_t* start, const machine_state& from, std::uint64_t& value) {
  return evaluate(
      code, start,
      [&](std::uint64_t number, std::uint64_t& out) {
        if (number >= cfi::register_count) return false;
        out = from.registers[number];
        return true;
      },
      [](std::uint64_t address, std::uint64_t& out) { return read_word(address, out); }, value);
}

bool restore(const cfi::register_rule& rule, unsigned number, std::uint64_t cfa, const machine_state& from,
             std::uint64_t& value) {
  switch (rule.kind) {
    case cfi::how::same:
      value = number == cfi::rsp ? cfa : from.registers[number];
      return true;
    case cfi::how::undefined:
      value = 0;
      return true;
    case cfi::how::at_cfa_offset:
      return read_word(cfa + rule.offset, value);
    case cfi::how::cfa_offset:
      value = cfa + rule.offset;
      return true;
    case cfi::how::in_register:
      value = from.registers[rule.offset % cfi::register_count];
      return true;
    case cfi::how::expression:
      return run(rule.code(), &cfa, from, value);
    case cfi::how::at_expression:
      return run(rule.code(), &cfa, from, value) && read_word(value, value);
  }
  return false;
}

bool full_step(machine_state& state) {
  const std::uint64_t pc = state.registers[cfi::return_address];
  cfi::function_entry entry;
  cfi::row row;
  if (find_row(state.exact ? pc : pc - 1, entry, row) != row_search::found) return false;
  const unsigned back = entry.return_register % cfi::register_count;
  if (row.registers[back].kind == cfi::how::undefined || row.registers[back].kind == cfi::how::same) return false;
  std::uint64_t cfa;
  if (row.cfa_is_expression) {
    if (!run(row.cfa_code, nullptr, state, cfa)) return false;
  } else {
    cfa = state.registers[row.cfa_register] + row.cfa_offset;
  }
  machine_state next;
  for (unsigned i = 0; i < cfi::register_count; ++i)
    if (!restore(row.registers[i], i, cfa, state, next.registers[i])) return false;
  if (back != cfi::return_address) next.registers[cfi::return_address] = next.registers[back];
  next.exact = entry.signal_frame;
  if (!next.exact && next.registers[cfi::rsp] <= state.registers[cfi::rsp]) return false;  // it would never end
  state = next;
  return state.registers[cfi::return_address] >= lowest_code;
}

}  // namespace

bool stack_walk::full_walk(const frame_state& caller, progress& walk) {
  machine_state state{};
  asm volatile(
      "movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r12, 96(%0)\n\t"
      "movq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)\n\t"
      "leaq 0f(%%rip), %%rcx\n0:\tmovq %%rcx, 128(%0)"
      :
      : "r"(state.registers)
      : "rcx", "memory");
  state.exact = true;
  constexpr unsigned own_frames = 32;
  for (unsigned i = 0; state.registers[cfi::return_address] != caller.pc || state.registers[cfi::rsp] != caller.rsp;
       ++i)
    if (i == own_frames || !full_step(state)) return false;
  walk.next = walked_;
  walk.kept = root();
  do {
    if (!make_room(walk)) break;
    const std::uint64_t exact = state.exact ? wire::place_exact_address : 0;
    *walk.next++ = {
        {state.registers[cfi::return_address] | exact, state.registers[cfi::rsp], state.registers[cfi::rbp]},
        {0, uses_rbp, 0}};
  } while (full_step(state));
  return true;
}

}  // namespace heapledger::probe

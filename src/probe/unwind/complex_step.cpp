#include "probe/base/syscalls.hpp"
#include "probe/unwind/expression.hpp"
#include "probe/unwind/find_row.hpp"
#include "probe/unwind/step.hpp"

namespace heapledger::probe {

bool readable(std::uint64_t address) {
  // rt_sigprocmask reads the new mask before it looks at `how`: EFAULT (14) for bad memory, EINVAL for a bad `how`.
  return address > 4096 && sys::call(__NR_rt_sigprocmask, ~std::uint64_t{0}, address & ~std::uint64_t{7}, 0, 8) != -14;
}

namespace {

class interpreter {
 public:
  interpreter(const frame_state& from, step_reads& reads) : from_(from), reads_(reads) {}
  bool lacks_register = false;

  bool reg(std::uint64_t number, std::uint64_t& value) {
    if (number == cfi::rsp)
      value = from_.rsp;
    else if (number == cfi::rbp)
      value = from_.rbp;
    else if (number == cfi::return_address)
      value = from_.pc & ~wire::place_exact_address;
    else
      lacks_register = true;
    return !lacks_register;
  }
  bool memory(std::uint64_t address, std::uint64_t& value) {
    if (reads_.count == step_reads::capacity || !readable(address)) return false;
    value = reads_.read(address);
    return true;
  }
  bool expression(cfi::bytes code, const std::uint64_t* start, std::uint64_t& value) {
    return evaluate(
        code, start, [this](std::uint64_t number, std::uint64_t& out) { return reg(number, out); },
        [this](std::uint64_t address, std::uint64_t& out) { return memory(address, out); }, value);
  }
  bool restore(const cfi::register_rule& rule, std::uint64_t cfa, std::uint64_t same, std::uint64_t& value) {
    switch (rule.kind) {
      case cfi::how::same:
        value = same;
        return true;
      case cfi::how::undefined:
        value = 0;
        return true;
      case cfi::how::at_cfa_offset:
        return memory(cfa + rule.offset, value);
      case cfi::how::cfa_offset:
        value = cfa + rule.offset;
        return true;
      case cfi::how::in_register:
        return reg(static_cast<std::uint64_t>(rule.offset), value);
      case cfi::how::expression:
        return expression(rule.code(), &cfa, value);
      case cfi::how::at_expression:
        return expression(rule.code(), &cfa, value) && memory(value, value);
    }
    return false;
  }

 private:
  const frame_state& from_;
  step_reads& reads_;
};

}  // namespace

HL_COLD step_end complex_step(const frame_state& from, step_reads& reads, frame_state& next) {
  const bool exact = (from.pc & wire::place_exact_address) != 0;
  const std::uint64_t pc = from.pc & ~wire::place_exact_address;
  cfi::function_entry entry;
  cfi::row row;
  if (find_row(exact ? pc : pc - 1, entry, row) != row_search::found) return step_end::no_rule;

  interpreter in(from, reads);
  std::uint64_t cfa = 0;
  bool good;
  if (row.cfa_is_expression) {
    good = in.expression(row.cfa_code, nullptr, cfa);
  } else {
    good = in.reg(row.cfa_register, cfa);
    cfa += row.cfa_offset;
  }
  const cfi::register_rule& stack = row.registers[cfi::rsp];
  good = good && in.restore(row.registers[entry.return_register % cfi::register_count], cfa, 0, next.pc) &&
         in.restore(row.registers[cfi::rbp], cfa, from.rbp, next.rbp) && in.restore(stack, cfa, cfa, next.rsp);
  if (!good) return in.lacks_register ? step_end::needs_registers : step_end::bounds;
  if (next.pc < lowest_code) return step_end::outermost;
  if (!entry.signal_frame && next.rsp <= from.rsp) return step_end::bounds;  // the walk would never end
  if (entry.signal_frame) next.pc |= wire::place_exact_address;
  return step_end::stepped;
}

}  // namespace heapledger::probe

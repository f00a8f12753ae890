// DWARF expressions, as far as call frame information uses them.
#pragma once

#include "probe/unwind/cfi_reader.hpp"

namespace heapledger::probe {

struct expression_registers {
  std::uint64_t pc, rsp, rbp;
};

// Evaluates `code`. `read_register(number, value)` and `read_memory(address, value)` return false when they cannot say;
// `with_start`, if given, is pushed first (register rules start with the CFA on the stack).
template <class ReadRegister, class ReadMemory>
bool evaluate(cfi::bytes code, const std::uint64_t* with_start, ReadRegister&& read_register, ReadMemory&& read_memory,
              std::uint64_t& result) {
  constexpr unsigned stack_size = 16;
  std::uint64_t stack[stack_size];
  unsigned depth = 0;
  if (with_start != nullptr) stack[depth++] = *with_start;
  cfi::reader in(code);
  for (unsigned steps = 0; !in.empty(); ++steps) {
    if (steps > 256 || depth + 1 >= stack_size) return false;
    const auto op = in.fixed<std::uint8_t>();
    if (op >= 0x30 && op <= 0x4f) {  // lit0..31
      stack[depth++] = op - 0x30u;
      continue;
    }
    if ((op >= 0x70 && op <= 0x8f) || op == 0x92) {  // breg0..31, bregx
      const std::uint64_t number = op == 0x92 ? in.unsigned_leb() : op - 0x70u;
      const auto offset = static_cast<std::uint64_t>(in.signed_leb());
      if (!read_register(number, stack[depth])) return false;
      stack[depth++] += offset;
      continue;
    }
    switch (op) {
      case 0x03:
        stack[depth++] = in.fixed<std::uint64_t>();
        continue;
      case 0x08:
        stack[depth++] = in.fixed<std::uint8_t>();
        continue;
      case 0x09:
        stack[depth++] = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int8_t>()});
        continue;
      case 0x0a:
        stack[depth++] = in.fixed<std::uint16_t>();
        continue;
      case 0x0b:
        stack[depth++] = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int16_t>()});
        continue;
      case 0x0c:
        stack[depth++] = in.fixed<std::uint32_t>();
        continue;
      case 0x0d:
        stack[depth++] = static_cast<std::uint64_t>(std::int64_t{in.fixed<std::int32_t>()});
        continue;
      case 0x0e:
      case 0x0f:
        stack[depth++] = in.fixed<std::uint64_t>();
        continue;
      case 0x10:
        stack[depth++] = in.unsigned_leb();
        continue;
      case 0x11:
        stack[depth++] = static_cast<std::uint64_t>(in.signed_leb());
        continue;
      default:
        break;
    }
    if (depth == 0) return false;
    std::uint64_t& top = stack[depth - 1];
    switch (op) {
      case 0x06:  // deref
        if (!read_memory(top, top)) return false;
        continue;
      case 0x12:
        stack[depth] = top;
        ++depth;
        continue;  // dup
      case 0x13:
        --depth;
        continue;  // drop
      case 0x1f:
        top = -top;
        continue;
      case 0x20:
        top = ~top;
        continue;
      case 0x23:
        top += in.unsigned_leb();
        continue;  // plus_uconst
      case 0x96:
        continue;  // nop
      default:
        break;
    }
    if (depth < 2) return false;
    std::uint64_t& left = stack[depth - 2];
    const std::uint64_t right = top;
    --depth;
    switch (op) {
      case 0x14:
        ++depth;
        stack[depth] = left;
        ++depth;
        continue;  // over
      case 0x16:
        ++depth;
        top = left;
        left = right;
        continue;  // swap
      case 0x1a:
        left &= right;
        continue;
      case 0x1c:
        left -= right;
        continue;
      case 0x1e:
        left *= right;
        continue;
      case 0x21:
        left |= right;
        continue;
      case 0x22:
        left += right;
        continue;
      case 0x24:
        left <<= right & 63;
        continue;
      case 0x25:
        left >>= right & 63;
        continue;
      case 0x27:
        left ^= right;
        continue;
      case 0x29:
        left = left == right;
        continue;
      case 0x2a:
        left = static_cast<std::int64_t>(left) >= static_cast<std::int64_t>(right);
        continue;
      case 0x2b:
        left = static_cast<std::int64_t>(left) > static_cast<std::int64_t>(right);
        continue;
      case 0x2c:
        left = static_cast<std::int64_t>(left) <= static_cast<std::int64_t>(right);
        continue;
      case 0x2d:
        left = static_cast<std::int64_t>(left) < static_cast<std::int64_t>(right);
        continue;
      case 0x2e:
        left = left != right;
        continue;
      default:
        return false;
    }
  }
  if (depth == 0 || !in.good()) return false;
  result = stack[depth - 1];
  return true;
}

// Evaluates an expression that reads no memory and no register but pc, rsp and rbp.
inline bool evaluate_pure(cfi::bytes code, const expression_registers& registers, std::uint64_t& result) {
  auto read_register = [&](std::uint64_t number, std::uint64_t& value) {
    if (number == cfi::return_address)
      value = registers.pc;
    else if (number == cfi::rsp)
      value = registers.rsp;
    else
      return false;
    return true;
  };
  auto read_memory = [](std::uint64_t, std::uint64_t&) { return false; };
  return evaluate(code, nullptr, read_register, read_memory, result);
}

}  // namespace heapledger::probe

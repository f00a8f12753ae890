// What is known, in the code of a landing pad, about the number that says which handler it is: where it was copied to,
// and how the last comparison with it ended. What is not understood is forgotten.
#pragma once

#include <heapledger/detail/instruction.hpp>

#if defined(__x86_64__)

#include <cstdint>

namespace heapledger::detail {

class exception_filter {
 public:
  explicit exception_filter(std::int64_t value = 0) : value_(value) {}

  void step(const instruction& is) {
    if (is.map == 1 && (is.opcode == 0x1e || is.opcode == 0x1f)) return;  // endbr64, nop
    const unsigned op = is.map == 0 ? is.opcode : ~0u;
    if (op == 0x90 || op == 0x8d || (op & 0xfd) == 0x89 || op == 0xc7 || (op & 0xf8) == 0xb8) return move(op, is);
    if ((op & 0xf0) == 0x50 || op == 0x68 || op == 0x6a) {  // push, pop
      forget(rsp);
      return (op & 0xf8) == 0x58 ? forget(is.first) : void();
    }
    compared_ = false;
    if (!compare(op, is)) change(is);
  }

  // Of a function: what it may change.
  void call() {
    constexpr std::uint32_t kept = 1u << rbx | 1u << rsp | 1u << rbp | 0xfu << 12;
    registers_ &= kept;
    if ((kept >> constant_in_ & 1) == 0) constant_in_ = nowhere;
    compared_ = false;
  }

  // Whether this branch is known to be taken, or not: by equality or signed order, as compilers do it.
  bool decides(const instruction& branch) const {
    const unsigned condition = branch.opcode & 0xf;
    return compared_ && (branch.map == 1 || (branch.opcode & 0xf0) == 0x70) &&
           (condition == 0x4 || condition == 0x5 || condition >= 0xc);
  }
  bool takes(const instruction& branch) const {
    switch (branch.opcode & 0xf) {
      case 0x4:
        return difference_ == 0;
      case 0x5:
        return difference_ != 0;
      case 0xc:
        return difference_ < 0;
      case 0xd:
        return difference_ >= 0;
      case 0xe:
        return difference_ <= 0;
      default:
        return difference_ > 0;
    }
  }

 private:
  enum : unsigned { rax = 0, rdx = 2, rbx = 3, rsp = 4, rbp = 5, nowhere = 31 };
  // A variable on the stack.
  struct place {
    unsigned base = nowhere;
    std::int32_t displacement = 0;
    bool operator==(const place&) const = default;
  };

  bool holds(unsigned r) const { return (registers_ >> r & 1) != 0; }
  bool holds(const place& at) const { return at.base != nowhere && (at == places_[0] || at == places_[1]); }
  bool first_holds(const instruction& is) const { return is.of_registers ? holds(is.first) : holds(place_of(is)); }
  static place place_of(const instruction& is) { return is.on_stack ? place{is.first, is.displacement} : place{}; }

  void forget(unsigned r) {
    registers_ &= ~(1u << r);
    if (constant_in_ == r) constant_in_ = nowhere;
    for (place& each : places_)
      if (each.base == r) each = {};
  }
  void forget(const place& at) {
    for (place& each : places_)
      if (each == at) each = {};
  }

  // What leaves the last comparison as it is.
  void move(unsigned op, const instruction& is) {
    if (op == 0x90) return;
    if (op == 0x8d) return forget(is.second);  // lea
    if ((op & 0xf8) == 0xb8) {
      forget(is.first);
      constant_in_ = is.first;
      constant_ = is.immediate;
    } else if (op == 0x8b) {
      const bool same = first_holds(is);
      forget(is.second);
      if (same) registers_ |= 1u << is.second;
    } else if (is.of_registers) {
      const bool same = op == 0x89 && holds(is.second);
      forget(is.first);
      if (same) registers_ |= 1u << is.first;
    } else {
      const place to = place_of(is);
      forget(to);
      if (op != 0x89 || !holds(is.second) || to.base == nowhere) return;
      places_[1] = places_[0];
      places_[0] = to;
    }
  }

  bool compare(unsigned op, const instruction& is) {
    const unsigned group = is.second & 7;
    const bool with_number = op == 0x83 || op == 0x81, decrements = op == 0xff && group == 1;
    if (op == 0x3d) {
      compared_ = holds(rax);
      difference_ = value_ - is.immediate;
    } else if (decrements || (with_number && (group == 7 || group == 5))) {  // cmp, sub
      compared_ = first_holds(is);
      difference_ = value_ - (decrements ? 1 : is.immediate);
      if (group != 7) is.of_registers ? forget(is.first) : forget(place_of(is));
    } else if (op == 0x39) {
      compared_ = first_holds(is) && is.second == constant_in_;
      difference_ = value_ - constant_;
    } else if (op == 0x3b) {
      compared_ = holds(is.second) && is.of_registers && is.first == constant_in_;
      difference_ = value_ - constant_;
    } else if (op == 0x85) {  // test
      compared_ = is.of_registers && is.first == is.second && holds(is.first);
      difference_ = value_;
    } else {
      return op == 0x38 || op == 0x3a || op == 0x3c || op == 0x84;  // they change no register
    }
    return true;
  }

  void change(const instruction& is) {
    forget(rax);
    forget(rdx);
    if (!is.has_operands || is.of_registers) forget(is.first);
    if (!is.has_operands) return;
    // Of some opcodes the second operand is no register, but part of the opcode.
    if (is.second != rsp) forget(is.second);
    if (!is.of_registers) forget(place_of(is));
  }

  std::int64_t value_;
  std::int64_t constant_ = 0;
  std::int64_t difference_ = 0;
  place places_[2];
  std::uint32_t registers_ = 1u << rdx;
  unsigned constant_in_ = nowhere;
  bool compared_ = false;
};

}  // namespace heapledger::detail

#endif

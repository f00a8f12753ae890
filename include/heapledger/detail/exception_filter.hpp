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

  // Whether this branch is known to be taken, or not: by equality or order, as compilers do it.
  bool decides(const instruction& branch) const {
    const unsigned condition = branch.opcode & 0xf;
    const bool by_carry = condition == 0x2 || condition == 0x3 || condition == 0x6 || condition == 0x7;
    return compared_ && (branch.map == 1 || (branch.opcode & 0xf0) == 0x70) &&
           (condition == 0x4 || condition == 0x5 || condition >= 0xc || (by_carry && sets_carry_));
  }
  bool takes(const instruction& branch) const {
    const auto left = static_cast<std::uint64_t>(left_), right = static_cast<std::uint64_t>(right_);
    switch (branch.opcode & 0xf) {
      case 0x2:
        return left < right;
      case 0x3:
        return left >= right;
      case 0x4:
        return left == right;
      case 0x5:
        return left != right;
      case 0x6:
        return left <= right;
      case 0x7:
        return left > right;
      case 0xc:
        return left_ < right_;
      case 0xd:
        return left_ >= right_;
      case 0xe:
        return left_ <= right_;
      default:
        return left_ > right_;
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

  // The number itself, or one that is known, in a register or on the stack.
  bool is_known(unsigned r) const { return holds(r) || r == constant_in_; }
  std::int64_t value_in(unsigned r) const { return r == constant_in_ ? constant_ : value_; }
  bool first_is_known(const instruction& is) const { return is.of_registers ? is_known(is.first) : first_holds(is); }

  void compared(bool known, std::int64_t left, std::int64_t right) {
    compared_ = known;
    left_ = left;
    right_ = right;
    sets_carry_ = true;
  }

  bool compare(unsigned op, const instruction& is) {
    const unsigned group = is.second & 7;
    const bool with_number = op == 0x83 || op == 0x81, decrements = op == 0xff && group == 1;
    const std::int64_t first = is.of_registers ? value_in(is.first) : value_;
    if (op == 0x3d) {
      compared(is_known(rax), value_in(rax), is.immediate);
    } else if (decrements || (with_number && (group == 7 || group == 5))) {  // cmp, sub
      compared(first_is_known(is), first, decrements ? 1 : is.immediate);
      if (decrements) sets_carry_ = false;
      if (group != 7) less(is);
    } else if (op == 0x39) {
      compared(first_is_known(is) && is_known(is.second), first, value_in(is.second));
    } else if (op == 0x3b) {
      compared(first_is_known(is) && is_known(is.second), value_in(is.second), first);
    } else if (op == 0x85) {  // test
      compared(is.of_registers && is.first == is.second && is_known(is.first), first, 0);
    } else {
      return op == 0x38 || op == 0x3a || op == 0x3c || op == 0x84;  // they change no register
    }
    return true;
  }

  // The first operand becomes the difference: so a range of handlers is told apart by one comparison.
  void less(const instruction& is) {
    if (!is.of_registers) return forget(place_of(is));
    forget(is.first);
    if (!compared_) return;
    constant_in_ = is.first;
    constant_ = left_ - right_;
  }

  // Moves and xors of vector registers, as containers and strings are moved by.
  static bool is_of_vectors(const instruction& is) {
    const unsigned op = is.opcode;
    return is.map == 1 && ((op & 0xfe) == 0x10 || (op & 0xfe) == 0x16 || (op & 0xfe) == 0x28 || op == 0x57 ||
                           op == 0x6f || op == 0x7f || op == 0xd6 || op == 0xef);
  }

  void change(const instruction& is) {
    if (is_of_vectors(is)) return is.of_registers ? void() : forget(place_of(is));
    const unsigned op = is.map == 0 ? is.opcode : ~0u;
    const bool second_is_opcode = (op & 0xfc) == 0x80 || op == 0xc0 || op == 0xc1 || op == 0xc6 ||
                                  (op & 0xfc) == 0xd0 || op == 0xfe || op == 0xff;
    const bool is_arithmetic = second_is_opcode || (op < 0x40 && (op & 7) < 4);
    if (op == 0xff && is.second % 8 == 6) forget(rsp);  // push
    if (!is_arithmetic) {                               // it may have results of which its operands say nothing
      forget(rax);
      forget(rdx);
    }
    if (!is.has_operands || is.of_registers) forget(is.first);
    if (!is.has_operands) return;
    // Of further opcodes the second operand is no register, but part of the opcode.
    if (!second_is_opcode && is.second != rsp) forget(is.second);
    if (!is.of_registers) forget(place_of(is));
  }

  std::int64_t value_;
  std::int64_t constant_ = 0;
  std::int64_t left_ = 0, right_ = 0;  // of the last comparison
  place places_[2];
  std::uint32_t registers_ = 1u << rdx;
  unsigned constant_in_ = nowhere;
  bool compared_ = false;
  bool sets_carry_ = false;
};

}  // namespace heapledger::detail

#endif

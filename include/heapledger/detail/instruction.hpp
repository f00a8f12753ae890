// One instruction of x86-64 code: how long it is, where control goes, and which registers it may change. For code that
// compilers make; what is not known is `ends`.
#pragma once

#if defined(__x86_64__)

#include <cstdint>
#include <cstring>

namespace heapledger::detail {

struct instruction {
  // `ends`: a return, a trap, a jump to where a register says, or nothing that is known here.
  enum class flow { on, call, jump, branch, ends };

  flow goes = flow::on;
  const unsigned char* next = nullptr;
  // Of calls, jumps and branches: code, or the address of a pointer to it; 0 where it is in a register.
  std::uintptr_t target = 0;
  bool through_pointer = false;

  unsigned map = 0;  // 0: one-byte opcodes; 1 to 3: after 0f, 0f 38, 0f 3a
  unsigned opcode = 0;
  bool has_operands = false;       // a ModRM byte:
  bool of_registers = false;       // both operands are
  bool on_stack = false;           // the first one is in memory, at a fixed distance from rsp or rbp
  unsigned first = 0, second = 0;  // its r/m, or that register, or the one that the opcode names; and its reg
  std::int32_t displacement = 0;
  std::int64_t immediate = 0;
};

class instruction_reader {
 public:
  static instruction at(const unsigned char* code) { return instruction_reader(code).read(); }

 private:
  explicit instruction_reader(const unsigned char* code) : at_(code) {}

  instruction read() {
    prefixes();
    const unsigned opcode = *at_++;
    if (opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62)
      vector(opcode);
    else if (opcode == 0x0f)
      two_bytes();
    else
      one_byte(opcode);
    is_.next = at_;
    return is_;
  }

  void prefixes() {
    for (;; ++at_) {
      const unsigned byte = *at_;
      if (byte == 0x66)
        narrow_ = true;
      else if (byte == 0x67)
        short_address_ = true;
      else if (byte != 0xf2 && byte != 0xf3 && byte != 0x2e && byte != 0x36 && byte != 0x3e && byte != 0x26 &&
               byte != 0x64 && byte != 0x65 && byte != 0xf0)
        break;
    }
    if ((*at_ & 0xf0) == 0x40) rex_ = *at_++;
  }

  void one_byte(unsigned opcode) {
    is_.opcode = opcode;
    const unsigned low = opcode & 7;
    is_.first = low | (rex_ & 1) << 3;
    if (opcode < 0x40) {
      if (low < 4) return operands();
      if (low > 5) return ends();
      return low == 4 ? immediate(1) : full_immediate();
    }
    if (opcode < 0x60 || (opcode >= 0x6c && opcode < 0x70)) return;
    if ((opcode & 0xf0) == 0x70) return to(instruction::flow::branch, 1);
    if ((opcode & 0xf8) == 0xb0) return immediate(1);
    if ((opcode & 0xf8) == 0xb8) return (rex_ & 8) != 0 ? immediate(8) : full_immediate();
    if ((opcode & 0xfc) == 0xa0) return immediate(short_address_ ? 4 : 8);
    if (within(opcode, 0xe0, 0xe3)) return to(instruction::flow::branch, 1);
    if (within(opcode, 0x84, 0x8f) || within(opcode, 0xd0, 0xd3) || within(opcode, 0xd8, 0xdf)) return operands();
    if (within(opcode, 0xe4, 0xe7)) return immediate(1);
    if (within(opcode, 0x90, 0x99) || within(opcode, 0x9b, 0x9f) || within(opcode, 0xa4, 0xa7) ||
        within(opcode, 0xaa, 0xaf) || within(opcode, 0xf8, 0xfd))
      return;
    switch (opcode) {
      case 0x63:
      case 0xfe:
        return operands();
      case 0x69:
      case 0x81:
      case 0xc7:
        operands();
        return full_immediate();
      case 0x6b:
      case 0x80:
      case 0x83:
      case 0xc0:
      case 0xc1:
      case 0xc6:
        operands();
        return immediate(1);
      case 0x68:
      case 0xa9:
        return full_immediate();
      case 0x6a:
      case 0xa8:
        return immediate(1);
      case 0xf6:
        operands();
        return group() < 2 ? immediate(1) : void();
      case 0xf7:
        operands();
        return group() < 2 ? full_immediate() : void();
      case 0xe8:
        return to(instruction::flow::call, 4);
      case 0xe9:
        return to(instruction::flow::jump, 4);
      case 0xeb:
        return to(instruction::flow::jump, 1);
      case 0xff:
        return through_memory();
      case 0xc9:
      case 0xd7:
      case 0xf5:
        return;
      default:
        return ends();
    }
  }

  void two_bytes() {
    const unsigned opcode = *at_++;
    is_.map = 1;
    is_.opcode = opcode;
    if (opcode == 0x38 || opcode == 0x3a) {
      is_.map = opcode == 0x38 ? 2 : 3;
      is_.opcode = *at_++;
      operands();
      return opcode == 0x3a ? immediate(1) : void();
    }
    if ((opcode & 0xf0) == 0x80) return to(instruction::flow::branch, 4);
    is_.first = (opcode & 7) | (rex_ & 1) << 3;
    if ((opcode & 0xf8) == 0xc8) return;  // bswap
    if (opcode == 0x0b) return ends();    // ud2
    if (within(opcode, 0x30, 0x37) || within(opcode, 0xa0, 0xa2) || within(opcode, 0xa8, 0xaa)) return;
    if (opcode == 0x05 || opcode == 0x06 || opcode == 0x08 || opcode == 0x09 || opcode == 0x77) return;
    operands();
    if (has_byte_after_operands(opcode) || opcode == 0xa4 || opcode == 0xac || opcode == 0xba) immediate(1);
  }

  // VEX and EVEX.
  void vector(unsigned prefix) {
    is_.map = 1;
    if (prefix == 0xc5) {
      ++at_;
    } else {
      is_.map = *at_ & (prefix == 0x62 ? 7 : 0x1f);
      at_ += prefix == 0x62 ? 3 : 2;
    }
    is_.opcode = *at_++;
    if (is_.map == 1 && is_.opcode == 0x77) return;  // vzeroupper
    if (is_.map == 0 || is_.map > 3) return ends();
    operands();
    if (is_.map == 3 || (is_.map == 1 && has_byte_after_operands(is_.opcode))) immediate(1);
  }

  void operands() {
    const unsigned modrm = *at_++, mod = modrm >> 6, low = modrm & 7;
    is_.has_operands = true;
    is_.of_registers = mod == 3;
    is_.first = low | (rex_ & 1) << 3;
    is_.second = (modrm >> 3 & 7) | (rex_ & 4) << 1;
    if (mod == 3) return;
    relative_ = mod == 0 && low == 5;
    constexpr unsigned rsp_alone = 0x24;
    const unsigned index = low == 4 ? *at_++ : low, base = index & 7;
    is_.on_stack = (rex_ & 3) == 0 && (low == 4 ? index == rsp_alone : low == 5 && mod != 0);
    if (mod == 1) is_.displacement = static_cast<signed char>(*at_++);
    if (mod == 2 || (mod == 0 && base == 5)) {
      std::memcpy(&is_.displacement, at_, sizeof is_.displacement);
      at_ += sizeof is_.displacement;
    }
  }

  void through_memory() {
    operands();
    const unsigned what = group();
    if (what < 2 || what == 6) return;
    if (what != 2 && what != 4) return ends();
    is_.goes = what == 2 ? instruction::flow::call : instruction::flow::ends;
    if (is_.of_registers || !relative_) return;
    if (what == 4) is_.goes = instruction::flow::jump;
    is_.target = reinterpret_cast<std::uintptr_t>(at_) + static_cast<std::uintptr_t>(std::intptr_t{is_.displacement});
    is_.through_pointer = true;
  }

  void to(instruction::flow what, unsigned bytes) {
    immediate(bytes);
    is_.goes = what;
    is_.target = reinterpret_cast<std::uintptr_t>(at_) + static_cast<std::uintptr_t>(is_.immediate);
  }

  static bool within(unsigned opcode, unsigned first, unsigned last) { return opcode >= first && opcode <= last; }
  static bool has_byte_after_operands(unsigned opcode) {
    return within(opcode, 0x70, 0x73) || opcode == 0xc2 || within(opcode, 0xc4, 0xc6);
  }
  unsigned group() const { return is_.second & 7; }
  void ends() { is_.goes = instruction::flow::ends; }
  void full_immediate() { immediate(narrow_ ? 2 : 4); }
  void immediate(unsigned bytes) {
    std::int64_t value = 0;
    std::memcpy(&value, at_, bytes);
    const unsigned unused = 64 - bytes * 8;
    is_.immediate = static_cast<std::int64_t>(static_cast<std::uint64_t>(value) << unused) >> unused;
    at_ += bytes;
  }

  const unsigned char* at_;
  instruction is_;
  bool relative_ = false;
  bool narrow_ = false;
  bool short_address_ = false;
  unsigned rex_ = 0;
};

}  // namespace heapledger::detail

#endif

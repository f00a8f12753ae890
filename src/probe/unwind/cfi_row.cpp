#include "probe/unwind/cfi_reader.hpp"

namespace heapledger::probe::cfi {
namespace {

constexpr unsigned saved_rows = 3;  // DW_CFA_remember_state nests; compilers use one level

class machine {
 public:
  machine(const function_entry& entry, std::uint64_t address, row& out)
      : entry_(entry), address_(address), location_(entry.start), row_(out) {}

  bool run(bytes program, bool initial) {
    reader in(program);
    while (!in.empty()) {
      if (!step(in, initial) || !in.good()) return false;
      if (location_ > address_) return true;
    }
    return in.good();
  }
  void keep_initial() { initial_ = row_; }

 private:
  bool set(std::uint64_t number, how kind, std::int64_t offset) {
    if (number < register_count) row_.registers[number] = {kind, 0, offset};
    return true;  // vector registers are of no interest
  }
  bool set(std::uint64_t number, how kind, bytes code) {
    if (number < register_count)
      row_.registers[number] = {kind, static_cast<std::uint32_t>(code.end - code.data),
                                reinterpret_cast<std::int64_t>(code.data)};
    return true;
  }
  // Modulo 2^64: the tables may be anything.
  std::int64_t factored(std::uint64_t value) const {
    return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(entry_.data_alignment));
  }
  std::int64_t factored_signed(std::int64_t value) const { return factored(static_cast<std::uint64_t>(value)); }
  bool advance(std::uint64_t delta) {
    location_ += delta * entry_.code_alignment;
    return true;
  }
  bool restore(std::uint64_t number) {
    if (number < register_count) row_.registers[number] = initial_.registers[number];
    return true;
  }
  bool define_cfa(std::uint64_t number, std::int64_t offset) {
    row_.cfa_is_known = true;
    row_.cfa_is_expression = false;
    row_.cfa_register = static_cast<unsigned>(number);
    row_.cfa_offset = offset;
    return number < register_count;
  }

  bool step(reader& in, bool initial) {
    const auto code = in.fixed<std::uint8_t>();
    const std::uint8_t operand = code & 0x3f;
    switch (code & 0xc0) {
      case 0x40:
        return advance(operand);
      case 0x80:
        return set(operand, how::at_cfa_offset, factored(in.unsigned_leb()));
      case 0xc0:
        return !initial && restore(operand);
      default:
        break;
    }
    switch (operand) {
      case 0x00:
        return true;  // nop
      case 0x01:
        location_ = in.pointer(entry_.pointer_encoding & 0x7f, 0);
        return true;
      case 0x02:
        return advance(in.fixed<std::uint8_t>());
      case 0x03:
        return advance(in.fixed<std::uint16_t>());
      case 0x04:
        return advance(in.fixed<std::uint32_t>());
      case 0x05: {
        const auto number = in.unsigned_leb();
        return set(number, how::at_cfa_offset, factored(in.unsigned_leb()));
      }
      case 0x06:
        return restore(in.unsigned_leb());
      case 0x07:
        return set(in.unsigned_leb(), how::undefined, 0);
      case 0x08:
        return set(in.unsigned_leb(), how::same, 0);
      case 0x09: {
        const auto number = in.unsigned_leb();
        return set(number, how::in_register, static_cast<std::int64_t>(in.unsigned_leb()));
      }
      case 0x0a:
        if (depth_ == saved_rows) return false;
        saved_[depth_++] = row_;
        return true;
      case 0x0b:
        if (depth_ == 0) return false;
        row_ = saved_[--depth_];
        return true;
      case 0x0c: {
        const auto number = in.unsigned_leb();
        return define_cfa(number, static_cast<std::int64_t>(in.unsigned_leb()));
      }
      case 0x0d:
        return define_cfa(in.unsigned_leb(), row_.cfa_offset);
      case 0x0e:
        row_.cfa_offset = static_cast<std::int64_t>(in.unsigned_leb());
        return true;
      case 0x0f:
        row_.cfa_is_known = row_.cfa_is_expression = true;
        row_.cfa_code = in.block(in.unsigned_leb());
        return true;
      case 0x10: {
        const auto number = in.unsigned_leb();
        return set(number, how::at_expression, in.block(in.unsigned_leb()));
      }
      case 0x11: {
        const auto number = in.unsigned_leb();
        return set(number, how::at_cfa_offset, factored_signed(in.signed_leb()));
      }
      case 0x12: {
        const auto number = in.unsigned_leb();
        return define_cfa(number, factored_signed(in.signed_leb()));
      }
      case 0x13:
        row_.cfa_offset = factored_signed(in.signed_leb());
        return true;
      case 0x14: {
        const auto number = in.unsigned_leb();
        return set(number, how::cfa_offset, factored(in.unsigned_leb()));
      }
      case 0x15: {
        const auto number = in.unsigned_leb();
        return set(number, how::cfa_offset, factored_signed(in.signed_leb()));
      }
      case 0x16: {
        const auto number = in.unsigned_leb();
        return set(number, how::expression, in.block(in.unsigned_leb()));
      }
      case 0x2e:
        in.unsigned_leb();
        return true;  // GNU_args_size
      case 0x2f: {
        const auto number = in.unsigned_leb();
        return set(number, how::at_cfa_offset, factored(-in.unsigned_leb()));
      }
      default:
        return false;
    }
  }

  const function_entry& entry_;
  std::uint64_t address_;
  std::uint64_t location_;
  row& row_;
  row initial_;
  row saved_[saved_rows];
  unsigned depth_ = 0;
};

}  // namespace

bool row_at(const function_entry& entry, std::uint64_t address, row& out) {
  out = {};
  machine run(entry, address, out);
  if (!run.run(entry.initial, true)) return false;
  run.keep_initial();
  return run.run(entry.program, false) && out.cfa_is_known;
}

}  // namespace heapledger::probe::cfi

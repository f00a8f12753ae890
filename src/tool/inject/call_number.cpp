#include "tool/inject/call_number.hpp"

#include <array>
#include <cstring>
#include <span>

namespace heapledger::inject {
namespace {

using code = std::span<const std::uint8_t>;

constexpr std::size_t load_bytes = 5, move_bytes = 3, call_bytes = 5;
constexpr std::uint8_t to_rax = 0x44, to_rsi = 0x74;  // of mov N(%rsp), REGISTER
constexpr std::uint64_t longest_wrapper = 128;

std::int32_t immediate(code at) {
  std::int32_t value;
  std::memcpy(&value, at.data(), sizeof value);
  return value;
}

// N of mov N(%rsp), REGISTER.
std::optional<std::uint8_t> offset_of_load(code at, std::uint8_t into) {
  if (at[0] != 0x48 || at[1] != 0x8b || at[2] != into || at[3] != 0x24 || at[4] >= 0x80) return {};
  return at[4];
}

bool is_move_of_registers(code at) {
  return (at[0] & 0xf8) == 0x48 && at[1] == 0x89 && at[2] >= 0xc0;
}

std::optional<long> number_at(std::uint64_t address, const memory_reader& read) {
  long value = 0;
  if (!read(address, &value, sizeof value)) return {};
  return value;
}

// Of a function without a frame, which has the number as its second argument.
std::optional<long> number_from_caller(const user_regs_struct& registers, const memory_reader& read) {
  constexpr std::uint8_t ret = 0xc3, call = 0xe8;
  std::uint8_t next = 0;
  std::uint64_t back = 0;
  std::array<std::uint8_t, 32> before{};
  if (!read(registers.rip, &next, sizeof next) || next != ret || !read(registers.rsp, &back, sizeof back) ||
      !read(back - before.size(), before.data(), before.size()))
    return {};
  std::size_t at = before.size() - call_bytes;
  const auto target = back + static_cast<std::uint64_t>(std::int64_t{immediate(code(before).subspan(at + 1))});
  if (before[at] != call || registers.rip - target > longest_wrapper) return {};
  while (at >= move_bytes + load_bytes && is_move_of_registers(code(before).subspan(at - move_bytes))) at -= move_bytes;
  const auto offset = offset_of_load(code(before).subspan(at - load_bytes), to_rsi);
  return offset ? number_at(registers.rsp + sizeof back + *offset, read) : std::nullopt;
}

}  // namespace

std::optional<long> call_number(const user_regs_struct& registers, const memory_reader& read) {
  std::array<std::uint8_t, load_bytes + syscall_bytes> before{};
  if (!read(registers.rip - before.size(), before.data(), before.size())) return {};
  if (before[0] == 0xb8) return immediate(code(before).subspan(1));
  if (const auto offset = offset_of_load(before, to_rax)) return number_at(registers.rsp + *offset, read);
  return number_from_caller(registers, read);
}

}  // namespace heapledger::inject

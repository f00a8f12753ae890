// The word before a tag, where lives are timed (hook/lifetime.hpp): 52 bits of time and, below them, 12 that are a
// function of the time, the address and the key. What overflows by one byte changes the code alone, and is always seen;
// by more, but for one in 4096.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::probe {

class birth_word {
 public:
  static constexpr std::uint64_t time_mask = (std::uint64_t{1} << 52) - 1;  // of ns: 52 days
  static constexpr std::size_t bytes = 8;

  static std::uint64_t make(const void* block, std::uint64_t key, std::uint64_t born_ns) {
    const std::uint64_t time = born_ns & time_mask;
    return time << code_bits | code(time, block, key);
  }
  birth_word(std::uint64_t word, const void* block, std::uint64_t key)
      : time_(word >> code_bits), whole_((word & ((1u << code_bits) - 1)) == code(time_, block, key)) {}

  bool whole() const { return whole_; }
  // A block that lived longer than the word can tell seems younger by multiples of that.
  std::uint64_t lived_ns(std::uint64_t now_ns) const { return (now_ns - time_) & time_mask; }

 private:
  static constexpr unsigned code_bits = 12;
  static std::uint64_t code(std::uint64_t time, const void* block, std::uint64_t key) {
    const std::uint64_t mixed = (time ^ reinterpret_cast<std::uint64_t>(block) << 24 ^ key) * 0x9e3779b97f4a7c15u;
    return (mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u >> (64 - code_bits);
  }
  std::uint64_t time_;
  bool whole_;
};

}  // namespace heapledger::probe

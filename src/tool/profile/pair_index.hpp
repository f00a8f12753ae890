// From pairs of numbers to numbers, for trees of millions of nodes: by parent and what stands below it.
//
// A table with open addressing, since almost every look waits for memory: one cache line, where the standard's map
// takes two to four (its bucket, and the entries that are in it). For a tree of 3.5 million nodes half of the time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger {

class pair_index {
 public:
  explicit pair_index(std::size_t expected = 0) : slots_(std::bit_ceil(expected + expected / 2 + least_slots)) {}

  struct entry {
    std::uint32_t number;
    bool is_new;
  };
  // The number of the pair, which is `number` where it is new.
  entry find_or_add(std::uint32_t outer, std::uint32_t inner, std::size_t number) {
    const std::size_t at = find_place(slots_, outer, inner);
    if (slots_[at].number != none) return {slots_[at].number, false};
    slots_[at] = {.outer = outer, .inner = inner, .number = static_cast<std::uint32_t>(number)};
    ++taken_;
    // Two thirds at most are taken, so that a look ends soon.
    if (taken_ + taken_ / 2 > slots_.size()) grow();
    return {static_cast<std::uint32_t>(number), true};
  }

 private:
  static constexpr std::size_t least_slots = 16;

  struct slot {
    std::uint32_t outer = 0;
    std::uint32_t inner = 0;
    std::uint32_t number = none;  // free
  };

  // Where the pair is, or where there is room for it. The high bits of a product depend on all of its factors' bits.
  static std::size_t find_place(const std::vector<slot>& slots, std::uint32_t outer, std::uint32_t inner) {
    constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15;
    const std::uint64_t pair = std::uint64_t{outer} << 32 | inner;
    std::uint64_t hash = (pair ^ pair >> 29) * golden_ratio;
    hash ^= hash >> 32;
    std::size_t at = hash & (slots.size() - 1);
    while (slots[at].number != none && (slots[at].outer != outer || slots[at].inner != inner))
      at = (at + 1) & (slots.size() - 1);
    return at;
  }

  void grow() {
    std::vector<slot> larger(slots_.size() * 2);
    for (const auto& held : slots_)
      if (held.number != none) larger[find_place(larger, held.outer, held.inner)] = held;
    slots_ = std::move(larger);
  }

  std::vector<slot> slots_;
  std::size_t taken_ = 0;
};

}  // namespace heapledger

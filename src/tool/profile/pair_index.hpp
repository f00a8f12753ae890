// From pairs of numbers to numbers, for trees of millions of nodes: by parent and what stands below it.
//
// The standard's map, with its entries one behind the other instead of a block each, and room for as many as are
// expected: of a page for 270,000 stacks its blocks and rehashing were half of the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <unordered_map>

namespace heapledger {

class pair_index {
 public:
  explicit pair_index(std::size_t expected = 0) { numbers_.reserve(expected); }

  struct entry {
    std::uint32_t number;
    bool is_new;
  };
  // The number of the pair, which is `number` where it is new.
  entry find_or_add(std::uint32_t outer, std::uint32_t inner, std::size_t number) {
    const auto [found, is_new] =
        numbers_.try_emplace(std::uint64_t{outer} << 32 | inner, static_cast<std::uint32_t>(number));
    return {found->second, is_new};
  }

 private:
  std::pmr::monotonic_buffer_resource memory_;
  std::pmr::unordered_map<std::uint64_t, std::uint32_t> numbers_{&memory_};
};

}  // namespace heapledger

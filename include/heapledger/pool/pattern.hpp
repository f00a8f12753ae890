// What free chunks hold where that is checked: one byte, again and again. Sixteen at a time, in line: memset of a known
// size becomes `rep stos`, which took 15 ns to begin, and memcmp a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "attributes.hpp"

namespace heapledger::pool_detail {

template <std::size_t Bytes>
struct pattern {
  static constexpr std::uint8_t byte = 0xDD;

  HEAPLEDGER_POOL_HOT static void fill(void* at) {
    if constexpr (Bytes < sizeof(vector) || Bytes > longest) {
      std::memset(at, byte, Bytes);
    } else {
      each(static_cast<char*>(at), [](vector* part) { *part = all; });
    }
  }
  HEAPLEDGER_POOL_HOT static bool is_whole(const void* at) {
    const auto* const bytes = static_cast<const std::uint8_t*>(at);
    if constexpr (Bytes < sizeof(vector)) {
      std::uint8_t expected[Bytes];
      std::memset(expected, byte, Bytes);
      return std::memcmp(at, expected, Bytes) == 0;
    } else if constexpr (Bytes > longest) {  // all bytes are like their neighbours
      return *bytes == byte && std::memcmp(bytes, bytes + 1, Bytes - 1) == 0;
    } else {
      vector other = {};
      each(reinterpret_cast<const char*>(at), [&](const vector* part) { other |= *part ^ all; });
      std::uint64_t halves[2];
      std::memcpy(halves, &other, sizeof halves);
      return (halves[0] | halves[1]) == 0;
    }
  }
  // As it is, or as memory comes from the system.
  static bool is_whole_or_zero(const void* at) {
    const auto* const bytes = static_cast<const std::uint8_t*>(at);
    return (*bytes == 0 || *bytes == byte) && std::memcmp(bytes, bytes + 1, Bytes - 1) == 0;
  }

 private:
  using vector [[gnu::vector_size(16), gnu::may_alias, gnu::aligned(1)]] = std::uint8_t;
  static constexpr std::size_t longest = 1024;
  static constexpr vector all = {byte, byte, byte, byte, byte, byte, byte, byte,
                                 byte, byte, byte, byte, byte, byte, byte, byte};

  template <class Char, class Do>
  HEAPLEDGER_POOL_HOT static void each(Char* at, Do&& act) {
    for (std::size_t i = 0; i + sizeof(vector) <= Bytes; i += sizeof(vector)) {
      auto* part = as_vector(at + i);
      asm("" : "+r"(part));  // or the compiler would see a memset after all
      act(part);
    }
    if constexpr (Bytes % sizeof(vector) != 0) act(as_vector(at + Bytes - sizeof(vector)));
  }
  static vector* as_vector(char* at) { return reinterpret_cast<vector*>(at); }
  static const vector* as_vector(const char* at) { return reinterpret_cast<const vector*>(at); }
};

}  // namespace heapledger::pool_detail

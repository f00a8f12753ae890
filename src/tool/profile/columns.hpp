// How one value of a column is stored as an unsigned varint. A coder runs over the rows from the first to the last:
// store() gives the number that goes to the file, load() takes it back. Small numbers make small files, and long runs
// of the same number compress to nothing: so neighbours are stored as differences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <protozero/varint.hpp>

#include "tool/profile/container.hpp"

namespace heapledger::format {

inline std::uint64_t zigzag(std::uint64_t difference) {
  return protozero::encode_zigzag64(static_cast<std::int64_t>(difference));
}
inline std::uint64_t unzigzag(std::uint64_t stored) {
  return static_cast<std::uint64_t>(protozero::decode_zigzag64(stored));
}

struct plain {
  std::uint64_t store(std::size_t, std::uint64_t value) { return value; }
  std::uint64_t load(std::size_t, std::uint64_t stored) { return stored; }
};

struct signed_plain {
  std::uint64_t store(std::size_t, std::uint64_t value) { return zigzag(value); }
  std::uint64_t load(std::size_t, std::uint64_t stored) { return unzigzag(stored); }
};

// The difference to the row before; modulo 2^64, so that it is exact for every value.
struct delta {
  std::uint64_t last = 0;
  std::uint64_t store(std::size_t, std::uint64_t value) {
    const std::uint64_t difference = value - last;
    last = value;
    return zigzag(difference);
  }
  std::uint64_t load(std::size_t, std::uint64_t stored) { return last += unzigzag(stored); }
};

// An index into another table, or none: one more than the index, 0 for none.
template <class Coder>
struct optional_index {
  Coder coder;
  std::uint64_t store(std::size_t row, std::uint64_t value) {
    return coder.store(row, static_cast<std::uint32_t>(value + 1));
  }
  std::uint64_t load(std::size_t row, std::uint64_t stored) {
    const std::uint64_t shifted = coder.load(row, stored);
    if (shifted > UINT32_MAX) throw damage("an index is out of range");
    return static_cast<std::uint32_t>(shifted - 1);
  }
};

// The distance back from the row's own number.
struct distance {
  std::uint64_t store(std::size_t row, std::uint64_t value) { return row - value; }
  std::uint64_t load(std::size_t row, std::uint64_t stored) {
    if (stored > row) throw damage("an index is out of range");
    return row - stored;
  }
};

// What is left of another column of the same row: minuend(row) - value, signed.
template <class Minuend>
struct left_of {
  Minuend minuend;
  std::uint64_t store(std::size_t row, std::uint64_t value) { return zigzag(minuend(row) - value); }
  std::uint64_t load(std::size_t row, std::uint64_t stored) { return minuend(row) - unzigzag(stored); }
};
template <class Minuend>
left_of(Minuend) -> left_of<Minuend>;

}  // namespace heapledger::format

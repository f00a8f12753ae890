// Columns of numbers for the page, each as LEB128 varints behind its length in bytes; ui/src/data/reader.ts takes them
// back. Neighbours are alike in a column, so it compresses well.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heapledger::html {

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
  out += static_cast<char>(value);
}

inline std::uint64_t zigzag(std::int64_t value) {
  return (static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63);
}

inline void put_bytes(std::string& out, std::string_view bytes) {
  put_varint(out, bytes.size());
  out += bytes;
}

// `stored(row)` gives the number that goes to the file.
template <class Rows, class Stored>
void put_column(std::string& out, const Rows& rows, Stored&& stored) {
  std::string column;
  for (const auto& row : rows) put_varint(column, stored(row));
  put_bytes(out, column);
}

// Numbers kept as differences, modulo 2^64.
class difference {
 public:
  std::uint64_t operator()(std::uint64_t value) {
    const auto step = static_cast<std::int64_t>(value - last_);
    last_ = value;
    return zigzag(step);
  }

 private:
  std::uint64_t last_ = 0;
};

}  // namespace heapledger::html

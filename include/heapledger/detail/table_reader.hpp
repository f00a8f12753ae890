// The numbers in tables for unwinders (DWARF; Linux Standard Base, "DWARF extensions").
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace heapledger::detail {

struct table_reader {
  static constexpr unsigned omitted = 0xff;  // an encoding

  explicit table_reader(const void* table) : position(static_cast<const unsigned char*>(table)) {}

  unsigned byte() { return *position++; }
  template <class T>
  T read() {
    T value;
    std::memcpy(&value, position, sizeof value);
    position += sizeof value;
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned next = byte();
      value |= std::uint64_t{next & 0x7f} << shift;
      if ((next & 0x80) == 0) return value;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const unsigned next = byte();
      value |= std::uint64_t{next & 0x7f} << shift;
      shift += 7;
      if ((next & 0x80) != 0) continue;
      if ((next & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  std::uintptr_t encoded(unsigned encoding) {
    const auto here = reinterpret_cast<std::uintptr_t>(position);
    std::uintptr_t value;
    switch (encoding & 0xf) {
      case 0x1:
        value = uleb();
        break;
      case 0x2:
        value = read<std::uint16_t>();
        break;
      case 0x3:
        value = read<std::uint32_t>();
        break;
      case 0x9:
        value = static_cast<std::uintptr_t>(sleb());
        break;
      case 0xa:
        value = static_cast<std::uintptr_t>(read<std::int16_t>());
        break;
      case 0xb:
        value = static_cast<std::uintptr_t>(read<std::int32_t>());
        break;
      default:
        value = read<std::uintptr_t>();
        break;
    }
    if (value != 0 && (encoding & 0x70) == 0x10) value += here;
    if (value != 0 && (encoding & 0x80) != 0) std::memcpy(&value, reinterpret_cast<const void*>(value), sizeof value);
    return value;
  }

  const unsigned char* position;
};

}  // namespace heapledger::detail

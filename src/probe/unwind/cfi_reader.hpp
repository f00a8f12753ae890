// A cursor over DWARF's encodings that never passes its end: after an overrun every further read gives zero and
// `good()` stays false.
#pragma once

#include <cstring>

#include "probe/unwind/cfi.hpp"

namespace heapledger::probe::cfi {

class reader {
 public:
  explicit reader(bytes range) : at_(range.data), end_(range.end) {}

  bool good() const { return good_; }
  bool empty() const { return at_ >= end_ || !good_; }
  const std::uint8_t* position() const { return at_; }

  template <class T>
  T fixed() {
    T value{};
    if (static_cast<std::size_t>(end_ - at_) < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, at_, sizeof(T));
    at_ += sizeof(T);
    return value;
  }

  std::uint64_t unsigned_leb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0 || !good_) return value;
    }
  }

  std::int64_t signed_leb() {
    std::uint64_t value = 0;
    unsigned shift = 0;
    std::uint8_t byte;
    do {
      byte = fixed<std::uint8_t>();
      if (shift < 64) value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      shift += 7;
    } while ((byte & 0x80) != 0 && good_);
    if (shift < 64 && (byte & 0x40) != 0) value |= ~std::uint64_t{0} << shift;
    return static_cast<std::int64_t>(value);
  }

  bytes block(std::uint64_t length) {
    if (length > static_cast<std::uint64_t>(end_ - at_)) {
      fail();
      return {};
    }
    const bytes out{at_, at_ + length};
    at_ += length;
    return out;
  }

  // DW_EH_PE encodings. `data_base` serves DW_EH_PE_datarel. Indirect pointers are followed only if asked for.
  std::uint64_t pointer(std::uint8_t encoding, std::uint64_t data_base) {
    if (encoding == 0xff) return 0;
    const auto here = reinterpret_cast<std::uint64_t>(at_);
    std::uint64_t value = 0;
    switch (encoding & 0x0f) {
      case 0x00:
      case 0x04:
      case 0x0c:
        value = fixed<std::uint64_t>();
        break;
      case 0x01:
        value = unsigned_leb();
        break;
      case 0x02:
        value = fixed<std::uint16_t>();
        break;
      case 0x03:
        value = fixed<std::uint32_t>();
        break;
      case 0x09:
        value = static_cast<std::uint64_t>(signed_leb());
        break;
      case 0x0a:
        value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int16_t>()});
        break;
      case 0x0b:
        value = static_cast<std::uint64_t>(std::int64_t{fixed<std::int32_t>()});
        break;
      default:
        fail();
        return 0;
    }
    switch (encoding & 0x70) {
      case 0x00:
        break;
      case 0x10:
        value += here;
        break;
      case 0x30:
        value += data_base;
        break;
      default:
        fail();
        return 0;
    }
    return value;
  }

 private:
  void fail() {
    good_ = false;
    at_ = end_;
  }
  const std::uint8_t* at_;
  const std::uint8_t* end_;
  bool good_ = true;
};

}  // namespace heapledger::probe::cfi

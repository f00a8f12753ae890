// What a snapshot keeps of each account, and how: the probe writes it into the segment, the tool into the file beside
// it (docs/live.md), and the tool reads both.
//
// For every account with anything in it, in rising order, varints (7 bits a byte, lowest first):
//   account minus the account before it (the first: minus 0), allocations, allocated bytes, allocations minus frees,
//   allocated minus freed bytes, temporaries, reallocations, peak bytes; the differences and the peak are zigzag.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::wire {

struct account_counters {
  std::uint64_t allocations;
  std::uint64_t allocated_bytes;
  std::uint64_t frees;
  std::uint64_t freed_bytes;
  std::uint64_t temporaries;
  std::uint64_t reallocations;
  std::int64_t peak_bytes;
};

inline constexpr std::size_t snapshot_entry_limit = 8 * 10;  // bytes

inline char* put_varint(char* to, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) *to++ = static_cast<char>(value | 0x80);
  *to++ = static_cast<char>(value);
  return to;
}
inline char* put_signed_varint(char* to, std::int64_t value) {
  return put_varint(to, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
}
inline bool get_varint(const char*& at, const char* end, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; at != end && shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at++);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}
inline bool get_signed_varint(const char*& at, const char* end, std::int64_t& value) {
  std::uint64_t stored = 0;
  if (!get_varint(at, end, stored)) return false;
  value = static_cast<std::int64_t>(stored >> 1 ^ (0 - (stored & 1)));
  return true;
}

inline bool is_blank(const account_counters& c) {
  return (c.allocations | c.frees | static_cast<std::uint64_t>(c.peak_bytes)) == 0;
}

// `to` has snapshot_entry_limit bytes; returns where the next entry goes.
inline char* put_entry(char* to, std::uint32_t distance, const account_counters& c) {
  to = put_varint(to, distance);
  to = put_varint(to, c.allocations);
  to = put_varint(to, c.allocated_bytes);
  to = put_signed_varint(to, static_cast<std::int64_t>(c.allocations - c.frees));
  to = put_signed_varint(to, static_cast<std::int64_t>(c.allocated_bytes - c.freed_bytes));
  to = put_varint(to, c.temporaries);
  to = put_varint(to, c.reallocations);
  return put_signed_varint(to, c.peak_bytes);
}

// False: the bytes end within an entry, or a number is too long.
inline bool get_entry(const char*& at, const char* end, std::uint64_t& distance, account_counters& c) {
  std::int64_t live_blocks = 0;
  std::int64_t live_bytes = 0;
  if (!get_varint(at, end, distance) || !get_varint(at, end, c.allocations) ||
      !get_varint(at, end, c.allocated_bytes) || !get_signed_varint(at, end, live_blocks) ||
      !get_signed_varint(at, end, live_bytes) || !get_varint(at, end, c.temporaries) ||
      !get_varint(at, end, c.reallocations) || !get_signed_varint(at, end, c.peak_bytes))
    return false;
  c.frees = c.allocations - static_cast<std::uint64_t>(live_blocks);
  c.freed_bytes = c.allocated_bytes - static_cast<std::uint64_t>(live_bytes);
  return true;
}

}  // namespace heapledger::wire

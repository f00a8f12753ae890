// The eight bytes at the end of a small block's usable space that say whose it is. Under a mask that depends on the
// block's address and on a key drawn at start they are
//
//   bytes 0-2  257 times the slack (usable bytes that were not requested): any change of byte 0, the first that an
//              overflow destroys, leaves no multiple of 257, and the bytes above it tell the slack all the same
//   bytes 3-5  account
//   bytes 6-7  kind (2 bits) and 14 bits of zero
//
// All as it should be: ours. The zeros there and the code broken: ours, and overwritten from below. Neither: not ours.
// A freed block keeps its tag complemented.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::probe {

enum class block_kind : std::uint64_t { from_malloc, from_new, from_new_array };

inline constexpr std::size_t tag_bytes = 8;

// From this usable size on, blocks go to the side table: a tag would touch a page for our sake. A little under 64 KiB,
// so that 257 times any slack is below 2^24.
inline constexpr std::size_t large_usable_bytes = 255 * 256;

class tag {
 public:
  static constexpr std::uint32_t account_limit = 1u << 24;

  // The word that says so.
  static std::uint64_t make(const void* block, std::uint64_t key, std::uint32_t account, std::size_t slack,
                            block_kind kind) {
    return (std::uint64_t{slack} * 257 | std::uint64_t{account} << 24 | static_cast<std::uint64_t>(kind) << 48) ^
           mask(block, key);
  }

  // What a word says.
  tag(std::uint64_t word, const void* block, std::uint64_t key) : said_(word ^ mask(block, key)) {}

  // Ours, and whole: `bytes` are those asked for.
  bool intact(std::size_t usable, std::size_t& bytes) const { return recognized() && whole(usable, bytes); }
  // Intact, and of the given kind.
  bool good(block_kind kind, std::size_t usable, std::size_t& bytes) const {
    return said_ >> 48 == static_cast<std::uint64_t>(kind) && whole(usable, bytes);
  }
  // Ours, whatever befell its lower bytes.
  bool recognized() const { return said_ >> 50 == 0; }

  std::size_t slack() const { return decoded() >> 8; }
  // Without byte 0, of (256 a + b) * 257 there is 257 a + b.
  std::size_t slack_without_byte_0() const {
    const std::size_t upper = said_ >> 8 & 0xffff;
    return upper - upper / 257;
  }
  std::uint32_t account() const { return static_cast<std::uint32_t>(said_ >> 24) & (account_limit - 1); }
  block_kind kind() const { return static_cast<block_kind>(said_ >> 48 & 3); }

 private:
  // Turned, so that the bits by which most depends on the address come to the zeros and to byte 0.
  static std::uint64_t mask(const void* block, std::uint64_t key) {
    const std::uint64_t mixed = (reinterpret_cast<std::uint64_t>(block) ^ key) * 0x9e3779b97f4a7c15u;
    return mixed >> 40 | mixed << 24;
  }
  // 257 * 0xff01 is 2^24 + 1: of a multiple of 257 below 2^24 this is the factor, and of anything else a number
  // greater than every factor. Both are moved up by a byte.
  std::uint32_t decoded() const { return static_cast<std::uint32_t>(said_) * 0xff0100u; }
  // A slack that the block has room for: it has none for what the code gives when it is broken.
  bool whole(std::size_t usable, std::size_t& bytes) const {
    return !__builtin_sub_overflow(usable - tag_bytes, slack(), &bytes);
  }

  std::uint64_t said_;
};

inline std::uint64_t& tag_word(void* block, std::size_t usable) {
  return *reinterpret_cast<std::uint64_t*>(static_cast<char*>(block) + usable - tag_bytes);
}

}  // namespace heapledger::probe

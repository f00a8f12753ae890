// The eight bytes at the end of a small block's usable space that say whose it is.
//
//   byte 0     seal of the payload: the first byte that an overflow destroys
//   bytes 1-2  slack: usable bytes that were not requested
//   bytes 3-5  account
//   bytes 6-7  kind (2 bits) and a seal of the pointer (14 bits), which does not depend on the rest
//
// Both seals depend on a key drawn at start. All intact: ours. Pointer seal intact, payload seal broken: ours, and
// overwritten from below. Neither: not ours. A freed block keeps its tag complemented.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::probe {

enum class block_kind : std::uint64_t { from_malloc, from_new, from_new_array };

inline constexpr std::size_t tag_bytes = 8;

// From this usable size on, blocks go to the side table: a tag would touch a page for our sake. In glibc it is a chunk
// of 64 KiB, so that one test of the chunk's first word finds it (hook/block.hpp).
inline constexpr std::size_t large_usable_bytes = 64 * 1024 - 8;

class tag {
 public:
  static constexpr std::uint32_t account_limit = 1u << 24;

  tag() = default;
  explicit tag(std::uint64_t word) : word_(word) {}
  static tag make(const void* block, std::uint64_t key, std::uint32_t account, std::size_t slack, block_kind kind) {
    const std::uint64_t seal = pointer_seal(block, key);
    const std::uint64_t body = std::uint64_t{slack} << 8 | std::uint64_t{account} << 24 |
                               static_cast<std::uint64_t>(kind) << 48 | (seal & pointer_seal_mask);
    return tag(body | payload_seal(body, seal));
  }

  bool intact(const void* block, std::uint64_t key) const {
    const std::uint64_t seal = pointer_seal(block, key);
    return ((word_ ^ seal) & pointer_seal_mask) == 0 &&
           (word_ & 0xff) == payload_seal(word_ & ~std::uint64_t{0xff}, seal);
  }
  // Intact, and of the given kind.
  bool good(const void* block, std::uint64_t key, block_kind kind) const {
    const std::uint64_t seal = pointer_seal(block, key);
    return (word_ ^ (seal & pointer_seal_mask)) >> 48 == static_cast<std::uint64_t>(kind) &&
           (word_ & 0xff) == payload_seal(word_ & ~std::uint64_t{0xff}, seal);
  }
  bool freed(const void* block, std::uint64_t key) const { return tag(~word_).intact(block, key); }
  bool pointer_intact(const void* block, std::uint64_t key) const {
    return ((word_ ^ pointer_seal(block, key)) & pointer_seal_mask) == 0;
  }

  std::size_t slack() const { return word_ >> 8 & 0xffff; }
  std::uint32_t account() const { return static_cast<std::uint32_t>(word_ >> 24) & (account_limit - 1); }
  block_kind kind() const { return static_cast<block_kind>(word_ >> 48 & 3); }
  std::uint64_t word() const { return word_; }

 private:
  static constexpr std::uint64_t pointer_seal_mask = ~std::uint64_t{0} << 50;

  static std::uint64_t pointer_seal(const void* block, std::uint64_t key) {
    return (reinterpret_cast<std::uint64_t>(block) ^ key) * 0x9e3779b97f4a7c15u;
  }
  static std::uint64_t payload_seal(std::uint64_t body, std::uint64_t seal) {
    return ((body ^ (seal >> 8)) * 0xd6e8feb86659fd93u) >> 56;
  }
  std::uint64_t word_ = 0;
};

inline std::uint64_t& tag_word(void* block, std::size_t usable) {
  return *reinterpret_cast<std::uint64_t*>(static_cast<char*>(block) + usable - tag_bytes);
}

}  // namespace heapledger::probe

// Free chunks at hand: a stack of addresses, apart from the chunks.
//
// A free list in the chunks must read each chunk before it can hand out the next, one cache miss after the other once
// chunks do not fit the first cache: a pair took 4.1 ns with 256 chunks of 512 bytes, and 1.5 ns with this stack; of
// 16 bytes, 1.65 and 1.35. It also takes chunks of any page, and of any thread, without looking at what page they are.
//
// It ends where a page of the processor ends and begins behind a null, so that nothing but its top need be loaded: what
// counts in a pair is the number of loads and stores.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "attributes.hpp"
#include "tool.hpp"

namespace heapledger::pool_detail {

// Where the top of a magazine is that neither has chunks nor takes any.
inline constexpr std::size_t page_words = 4096 / sizeof(link*);
struct alignas(page_words * sizeof(link*)) no_magazine {
  link* words[page_words]{};
};
HEAPLEDGER_POOL_ONE inline constinit no_magazine closed_magazine{};

template <std::size_t Stride>
class magazine {
 public:
  // Not more than 256 KiB of chunks.
  static constexpr std::size_t most = std::clamp<std::size_t>((std::size_t{256} << 10) / Stride, 4, page_words - 1);

  constexpr magazine() = default;
  magazine(const magazine&) = delete;
  magazine& operator=(const magazine&) = delete;
  ~magazine() {
    if (bottom_ != nullptr) ::munmap(bottom_ - first, sizeof(link*) * page_words);
  }

  HEAPLEDGER_POOL_HOT link* pop() {
    link* const chunk = top_[-1];
    if (chunk != nullptr) [[likely]]
      --top_;
    return chunk;
  }
  // False when it is full, or closed.
  HEAPLEDGER_POOL_HOT bool push(link* chunk) {
    link** const place = top_;
    if (reinterpret_cast<std::uintptr_t>(place) % sizeof(closed_magazine) == 0) [[unlikely]]
      return false;
    *place = chunk;
    top_ = place + 1;
    return true;
  }

  // Takes chunks from now on. False when there is no memory for it.
  bool open() {
    if (is_open()) return true;
    if (bottom_ == nullptr) {
      void* const memory =
          ::mmap(nullptr, sizeof(link*) * page_words, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return false;
      bottom_ = static_cast<link**>(memory) + first;
    }
    top_ = bottom_;
    return true;
  }
  // When it is empty.
  void close() { top_ = closed; }
  bool is_open() const { return top_ != closed; }

  // The oldest ones leave.
  template <class Give>
  void give_oldest(std::size_t count, Give&& give) {
    if (!is_open()) return;
    link** const last = bottom_ + std::min(count, static_cast<std::size_t>(top_ - bottom_));
    for (link** one = bottom_; one != last; ++one) give(*one);
    top_ = std::copy(last, top_, bottom_);
  }
  void forget_all() {
    if (is_open()) top_ = bottom_;
  }

 private:
  static constexpr std::size_t first = page_words - most;
  static constexpr link** closed = closed_magazine.words + page_words;

  link** top_ = closed;
  link** bottom_ = nullptr;  // there is a null in front of it
};

}  // namespace heapledger::pool_detail

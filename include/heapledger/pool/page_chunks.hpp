// The chunks of one page, for whoever walks over them: only while nobody else uses the page, and nothing of it is at
// hand.
#pragma once

#include <algorithm>
#include <bitset>
#include <cstdint>

#include "links.hpp"
#include "page.hpp"

namespace heapledger::pool_detail {

template <class Layout>
struct page_chunks {
  static std::size_t in_use(const page* one) { return one->full ? Layout::capacity : one->countdown; }

  template <class F>
  static void for_each_free(const page* one, F&& call) {
    for (link* chunk = one->free; chunk != nullptr; chunk = links<Layout>::next(chunk)) call(chunk);
  }
  template <class F>
  static void for_each_in_use(const page* one, F&& call) {
    char* const memory = page_of<Layout>::memory(one);
    for (std::uint32_t from = 0; from < one->carved; from += looked_at_once) {
      std::bitset<looked_at_once> free;  // not from the heap, which may have no memory when a pool ends
      for_each_free(one, [&](const link* chunk) {
        const std::uint32_t index = Layout::index_of(chunk) - from;
        if (index < looked_at_once) free[index] = true;
      });
      for (std::uint32_t i = 0; i < looked_at_once && from + i < one->carved; ++i) {
        if (!free[i]) call(static_cast<void*>(Layout::chunk_at(memory, from + i)));
      }
    }
  }

  // All that were carved, in order.
  static void make_all_free(page* one) {
    char* const memory = page_of<Layout>::memory(one);
    one->free = nullptr;
    for (std::uint32_t index = one->carved; index-- > 0;) {
      link* const chunk = Layout::chunk_at(memory, index);
      links<Layout>::set_next(chunk, one->free);
      one->free = chunk;
    }
  }

 private:
  static constexpr std::uint32_t looked_at_once = std::min<std::uint32_t>(Layout::capacity, 8192);
};

}  // namespace heapledger::pool_detail

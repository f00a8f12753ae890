// The chunks that one thread, or the holder of a lock, hands out: a magazine of free chunks at hand, and pages to fill
// it from and to give back to.
//
// A chunk in a magazine counts as in use for its page; nothing but the magazine is touched by allocate and free. When
// it is full, the older half goes to its pages, and a page that is empty then can go back to the system.
#pragma once

#include <algorithm>
#include <cstdint>

#include "links.hpp"
#include "magazine.hpp"
#include "page.hpp"
#include "page_chunks.hpp"
#include "watch.hpp"

namespace heapledger::pool_detail {

// A chunk, and in whose name it was taken: see watch.hpp.
struct taken {
  link* chunk;
  word taker;
};

template <class Layout>
class arena {
 public:
  constexpr arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  HEAPLEDGER_POOL_HOT link* pop() { return at_hand_.pop(); }
  HEAPLEDGER_POOL_HOT bool push(link* chunk) { return at_hand_.push(chunk); }

  // Is it in the segment of the current page? Then it is the pool's: the usual answer, without the table.
  HEAPLEDGER_POOL_HOT bool segment_holds(const void* chunk) const {
    return reinterpret_cast<std::uintptr_t>(chunk) - segment_chunks_ < Layout::segment_bytes - Layout::page_bytes;
  }

  // When there is none at hand: the next chunk, or null when the system has no memory.
  template <class Pool>
  HEAPLEDGER_POOL_COLD link* refill(Pool& pool) {
    if (!has_free(current_) && !next_page(pool)) return nullptr;
    pages_go_back_ = false;
    if (at_hand_.open()) {
      take(at_once, pool, [this](link* chunk) { at_hand_.push(chunk); });
      return at_hand_.pop();
    }
    link* one = nullptr;
    take(1, pool, [&](link* chunk) { one = chunk; });
    return one;
  }

  // When there is no room at hand. `give` is for chunks of other arenas, too.
  template <class Give>
  HEAPLEDGER_POOL_COLD void make_room_for(link* chunk, Give&& give) {
    if (!at_hand_.is_open() && (pages_go_back_ || !at_hand_.open())) return give(chunk);
    at_hand_.give_oldest(at_hand_.most / 2, give);
    if (pages_go_back_) {
      // Memory is not wanted any more: chunks at hand would keep pages. Each goes to its page until memory is wanted.
      empty_hand(give);
      at_hand_.close();
    }
    if (!push(chunk)) give(chunk);
  }
  template <class Give>
  void empty_hand(Give&& give) {
    at_hand_.give_oldest(at_hand_.most, give);
  }

  // To its page, which is one of this arena.
  template <class Pool>
  void give(link* chunk, Pool& pool) {
    page* const one = page_of<Layout>::chunk(chunk);
    links<Layout>::set_next(chunk, one->free);
    one->free = chunk;
    const std::uint32_t left = --one->countdown;
    if (left == 0) {
      changed_kind(one, pool);
    } else if (left < nearly_empty && pages_ - 1 > keep_) {
      pages_go_back_ = true;
    }
  }

  // Gives back all pages without a chunk in use. Nothing is at hand.
  template <class Pool>
  void trim(Pool& pool) {
    if (current_ != nullptr && current_->countdown == 0) {
      give_back(current_, pool);
      forget_current();
    }
    while (page* const one = empty_.pop()) {
      --empty_count_;
      give_back(one, pool);
    }
    keep_ = Layout::options.keep_empty_pages;
    regretted_ = false;
  }

  // Destructive: `one` is empty from now on. To be called for every page of the arena, after `forget_lists`.
  void forget_lists() {
    at_hand_.forget_all();
    forget_current();
    partial_ = empty_ = {};
    empty_count_ = 0;
  }
  void make_empty(page* one) {
    if constexpr (Layout::checks::fill) page_chunks<Layout>::make_all_free(one);
    become_empty(one);
    keep_empty(one);
  }

 private:
  using magazine_type = magazine<Layout::stride>;

  // A batch is about what a page of the processor holds, so that memory is touched as it is needed.
  static constexpr std::uint32_t carved_at_once =
      std::max<std::uint32_t>(1, std::min<std::uint32_t>(Layout::capacity, 4096 / Layout::stride));
  static constexpr std::uint32_t at_once = magazine_type::most / 4;
  // So few chunks in use that those at hand could be all that keeps several pages.
  static constexpr std::uint32_t nearly_empty =
      std::clamp<std::uint32_t>(magazine_type::most / 4, Layout::capacity / 8, (Layout::capacity + 1) / 2);

  static bool has_free(const page* one) {
    return one != nullptr && (one->free != nullptr || one->carved != Layout::capacity);
  }

  // From the current page, which has free chunks: the one to be used first comes last.
  template <class Pool, class To>
  void take(std::uint32_t most, Pool& pool, To&& to) {
    page* const from = current_;
    std::uint32_t count = 0;
    while (link* const chunk = count < most ? from->free : nullptr) {
      from->free = links<Layout>::next(chunk);
      to(chunk);
      ++count;
    }
    if (count == 0) {
      char* const memory = page_of<Layout>::memory(from);
      count = std::min({most, carved_at_once, Layout::capacity - from->carved});
      for (std::uint32_t index = from->carved + count; index-- > from->carved;) {
        link* const chunk = Layout::chunk_at(memory, index);
        watch<Layout>::prepare(chunk, &pool.identity());
        to(chunk);
      }
      from->carved += count;
    }
    from->countdown += count;
  }

  template <class Pool>
  bool next_page(Pool& pool) {
    if (current_ != nullptr) {
      current_->full = true;
      current_->countdown = 1;
      forget_current();
    }
    page* one = partial_.pop();
    if (one == nullptr && (one = empty_.pop()) != nullptr) --empty_count_;
    if (one == nullptr) {
      one = pool.take_page(this);
      if (one == nullptr) return false;
      ++pages_;
      if (regretted_) {  // a page went back too early
        keep_ = std::min(2 * keep_ + 1, most_kept);
        regretted_ = false;
      }
    }
    current_ = one;
    segment_chunks_ =
        reinterpret_cast<std::uintptr_t>(page_of<Layout>::memory(one)) / Layout::segment_bytes * Layout::segment_bytes +
        Layout::page_bytes;
    return true;
  }

  template <class Pool>
  void changed_kind(page* one, Pool& pool) {
    if (one->full) {
      one->full = false;
      one->countdown = Layout::capacity - 1;
      if (one->countdown != 0) {
        partial_.push(one);
        return;
      }
    } else if (one != current_) {
      partial_.remove(one);
    }
    become_empty(one);
    if (one == current_) return;
    if (empty_count_ < keep_) {
      keep_empty(one);
    } else {
      give_back(one, pool);
      regretted_ = true;
      pages_go_back_ = true;
    }
  }
  template <class Pool>
  void give_back(page* one, Pool& pool) {
    if constexpr (Layout::checks::fill) {
      page_chunks<Layout>::for_each_free(one, [&](link* chunk) { watch<Layout>::left(chunk, &pool.identity()); });
    }
    --pages_;
    pool.give_back_page(one);
  }
  static void become_empty(page* one) {
    // To be carved again, in order; but where chunks are filled, each is looked at when it is taken.
    if constexpr (!Layout::checks::fill) {
      one->free = nullptr;
      one->carved = 0;
    }
    one->countdown = 0;
    one->full = false;
  }
  void keep_empty(page* one) {
    empty_.push(one);
    ++empty_count_;
  }
  void forget_current() { current_ = nullptr; }

  // How many empty pages are kept doubles whenever a page is needed after one was given back, up to this.
  static constexpr std::size_t most_kept =
      std::max<std::size_t>(Layout::options.keep_empty_pages, (std::size_t{64} << 20) / Layout::page_bytes);

  magazine_type at_hand_;
  // Where the chunks of the current page's segment begin. At first, what is near no pointer.
  std::uintptr_t segment_chunks_ = 0xC53A'96E7'5B00'0000;
  page* current_ = nullptr;  // is in neither list
  page_list partial_;
  page_list empty_;
  std::size_t empty_count_ = 0;
  std::size_t pages_ = 0;
  std::size_t keep_ = Layout::options.keep_empty_pages;
  bool regretted_ = false;
  bool pages_go_back_ = false;
};

}  // namespace heapledger::pool_detail

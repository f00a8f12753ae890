// The chunks that one thread, or the holder of a lock, hands out: a free list in its current page, and pages to go on
// with.
//
// The current page's free chunks are in `free_` and are not counted: allocate and free there are four instructions more
// than a bare list. Chunks of other pages go back to their own page, which counts down to the moment when it is empty.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "page.hpp"
#include "watch.hpp"

namespace heapledger::pool_detail {

// What a threading policy knows of a chunk that comes back: the arena of whoever frees it, and whether the chunk is in
// that arena's current page, which is the common case and answers every question about it.
template <class Arena>
struct place {
  Arena* mine;
  bool is_current;
};

template <class Layout>
class arena {
 public:
  using tool_type = typename Layout::tool_type;

  constexpr arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;

  HEAPLEDGER_POOL_HOT link* pop() {
    link* const chunk = free_;
    if (chunk != nullptr) [[likely]]
      free_ = tool_type::next(chunk);
    return chunk;
  }
  HEAPLEDGER_POOL_HOT bool current_holds(const void* chunk) const {
    return reinterpret_cast<std::uintptr_t>(chunk) - current_start_ < Layout::page_bytes;
  }
  HEAPLEDGER_POOL_HOT void push_to_current(link* chunk) {
    tool_type::set_next(chunk, free_);
    free_ = chunk;
  }
  // `one` is a page of this arena and not the current one.
  template <class Pool>
  HEAPLEDGER_POOL_HOT void push(page* one, link* chunk, Pool& pool) {
    tool_type::set_next(chunk, one->free);
    one->free = chunk;
    if (--one->countdown == 0) [[unlikely]]
      changed_kind(one, pool);
  }
  template <class Pool>
  HEAPLEDGER_POOL_HOT void give(link* chunk, Pool& pool) {
    if (current_holds(chunk)) {
      push_to_current(chunk);
    } else {
      push(page_of<Layout>::chunk(chunk), chunk, pool);
    }
  }

  // When the list is empty: the next chunk, or null when the system has no memory.
  template <class Pool>
  HEAPLEDGER_POOL_COLD link* refill(Pool& pool) {
    if (current_ == nullptr || current_->carved == Layout::capacity) {
      if (!next_page(pool)) return nullptr;
      if (free_ != nullptr) return pop();
    }
    carve();
    return pop();
  }

  // Gives back all pages without a chunk in use.
  template <class Pool>
  void trim(Pool& pool) {
    if (current_ != nullptr && uncounted_free() == Layout::capacity) {
      pool.give_back_page(current_);
      forget_current();
    }
    while (page* const one = empty_.pop()) {
      --empty_count_;
      pool.give_back_page(one);
    }
    keep_ = Layout::options.keep_empty_pages;
    regretted_ = false;
  }

  // Every chunk of this arena's page `one` that is in use. The arena must be at rest.
  template <class F>
  void for_each_in_use(page* one, F&& call) const {
    std::vector<bool> free(one->carved, false);
    char* const memory = page_of<Layout>::memory(one);
    for (link* chunk = one == current_ ? free_ : one->free; chunk != nullptr; chunk = tool_type::next(chunk)) {
      free[Layout::index_of(chunk)] = true;
    }
    for (std::uint32_t index = 0; index < one->carved; ++index) {
      if (!free[index]) call(static_cast<void*>(Layout::chunk_at(memory, index)));
    }
  }
  std::size_t in_use(const page* one) const {
    if (one == current_) return Layout::capacity - uncounted_free();
    return one->full ? Layout::capacity : one->countdown;
  }

  // Destructive: `one` is empty from now on. To be called for every page of the arena, after `forget_lists`.
  void forget_lists() {
    forget_current();
    partial_ = empty_ = {};
    empty_count_ = 0;
  }
  void make_empty(page* one) {
    become_empty(one);
    keep_empty(one);
  }

 private:
  // A batch is about what a page of the processor holds, so that memory is touched as it is needed.
  static constexpr std::uint32_t batch =
      std::max<std::uint32_t>(1, std::min<std::uint32_t>(Layout::capacity, 4096 / Layout::stride));

  HEAPLEDGER_POOL_COLD void carve() {
    char* const memory = page_of<Layout>::memory(current_);
    const std::uint32_t from = current_->carved;
    const std::uint32_t to = std::min<std::uint32_t>(from + batch, Layout::capacity);
    for (std::uint32_t index = to; index-- > from;) {
      link* const chunk = Layout::chunk_at(memory, index);
      watch<Layout>::prepare(chunk);
      push_to_current(chunk);
    }
    current_->carved = to;
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
      if (regretted_) {  // a page went back too early
        keep_ = std::min(2 * keep_ + 1, most_kept);
        regretted_ = false;
      }
    }
    current_ = one;
    current_start_ = reinterpret_cast<std::uintptr_t>(page_of<Layout>::memory(one));
    free_ = one->free;
    one->free = nullptr;
    return true;
  }

  template <class Pool>
  HEAPLEDGER_POOL_COLD void changed_kind(page* one, Pool& pool) {
    if (one->full) {
      one->full = false;
      one->countdown = Layout::capacity - 1;
      if (one->countdown != 0) {
        partial_.push(one);
        return;
      }
    } else {
      partial_.remove(one);
    }
    become_empty(one);
    if (empty_count_ < keep_) {
      keep_empty(one);
    } else {
      pool.give_back_page(one);
      regretted_ = true;
    }
  }
  static void become_empty(page* one) {  // to be carved again, in order
    one->free = nullptr;
    one->countdown = 0;
    one->carved = 0;
    one->full = false;
  }
  void keep_empty(page* one) {
    empty_.push(one);
    ++empty_count_;
  }
  void forget_current() {
    current_ = nullptr;
    current_start_ = 0;
    free_ = nullptr;
  }
  std::size_t uncounted_free() const {
    std::size_t count = Layout::capacity - current_->carved;
    for (link* chunk = free_; chunk != nullptr; chunk = tool_type::next(chunk)) ++count;
    return count;
  }

  // How many empty pages are kept doubles whenever a page is needed after one was given back, up to this.
  static constexpr std::size_t most_kept =
      std::max<std::size_t>(Layout::options.keep_empty_pages, (std::size_t{64} << 20) / Layout::page_bytes);

  link* free_ = nullptr;
  std::uintptr_t current_start_ = 0;
  page* current_ = nullptr;
  page_list partial_;
  page_list empty_;
  std::size_t empty_count_ = 0;
  std::size_t keep_ = Layout::options.keep_empty_pages;
  bool regretted_ = false;
};

}  // namespace heapledger::pool_detail

// The pages of a pool: segments from mmap, registered in the segment map, cut into pages. A page that is given back
// loses its memory at once (MADV_DONTNEED) and keeps its address for the next who needs one.
//
// Not thread safe: the threading policy's `page_lock` goes around it.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "page.hpp"
#include "segment_map.hpp"

// LeakSanitizer's, where it is in the program: it looks for pointers only where it is told to.
extern "C" {
[[gnu::weak]] void __lsan_register_root_region(const void* begin, std::size_t bytes);
[[gnu::weak]] void __lsan_unregister_root_region(const void* begin, std::size_t bytes);
}

namespace heapledger::pool_detail {

template <class Layout>
class page_store {
 public:
  constexpr page_store() = default;
  page_store(const page_store&) = delete;
  page_store& operator=(const page_store&) = delete;
  ~page_store() {
    while (segments_ != nullptr) {
      segment* const gone = segments_;
      segments_ = gone->next;
      release(gone);
    }
  }

  // Null when the system has no memory.
  HEAPLEDGER_POOL_COLD page* take(void* arena, const pool_identity* pool) {
    page* one = given_back_;
    if (one != nullptr) {
      given_back_ = one->next;
    } else {
      if ((segments_ == nullptr || segments_->used_slots == slots_per_segment) && !grow(pool)) return nullptr;
      one = reinterpret_cast<page*>(reinterpret_cast<char*>(segments_) + segments_->used_slots++ * slot_bytes);
    }
    *one = page{};
    page_of<Layout>::owner(one) = arena;
    Layout::tool_type::forbid(page_of<Layout>::memory(one) + Layout::header_table_bytes,
                              Layout::page_bytes - Layout::header_table_bytes);
    return one;
  }

  HEAPLEDGER_POOL_COLD void give_back(page* one) {
    char* const memory = page_of<Layout>::memory(one);
    ::madvise(memory, Layout::page_bytes, MADV_DONTNEED);
    page_of<Layout>::owner(one) = nullptr;
    one->next = given_back_;
    given_back_ = one;
  }

  bool was_used() const { return segments_ != nullptr; }

  // Every page that has an arena.
  template <class F>
  void for_each(F&& call) {
    for (segment* each = segments_; each != nullptr; each = each->next) {
      for (std::size_t slot = 1; slot < each->used_slots; ++slot) {
        page* const one = reinterpret_cast<page*>(reinterpret_cast<char*>(each) + slot * slot_bytes);
        if (page_of<Layout>::owner(one) != nullptr) call(one);
      }
    }
  }

 private:
  struct segment {
    segment* next;
    std::size_t used_slots;
  };
  static_assert(sizeof(segment) <= slot_bytes);

  bool grow(const pool_identity* pool) {
    char* const memory = map_aligned(Layout::segment_bytes);
    if (memory == nullptr) return false;
    if (!segment_map::set(memory, Layout::segment_bytes, pool)) {
      segment_map::set(memory, Layout::segment_bytes, nullptr);
      ::munmap(memory, Layout::segment_bytes);
      return false;
    }
    if (__lsan_register_root_region != nullptr) __lsan_register_root_region(memory, Layout::segment_bytes);
    if (segments_ == nullptr) Layout::tool_type::open_pool(pool);
    auto* const fresh = reinterpret_cast<segment*>(memory);
    *fresh = {segments_, 1};  // slot 0 is the segment's own
    segments_ = fresh;
    return true;
  }

  static void release(segment* gone) {
    Layout::tool_type::allow(gone, Layout::segment_bytes);
    segment_map::set(gone, Layout::segment_bytes, nullptr);
    if (__lsan_unregister_root_region != nullptr) __lsan_unregister_root_region(gone, Layout::segment_bytes);
    ::munmap(gone, Layout::segment_bytes);
  }

  // Aligned to its own size. Nothing of it is in memory before it is touched.
  static char* map_aligned(std::size_t bytes) {
    void* const memory =
        ::mmap(nullptr, 2 * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    char* const start = static_cast<char*>(memory);
    char* const aligned = reinterpret_cast<char*>(round_up(reinterpret_cast<std::uintptr_t>(start), bytes));
    if (aligned != start) ::munmap(start, static_cast<std::size_t>(aligned - start));
    ::munmap(aligned + bytes, static_cast<std::size_t>(start + bytes - aligned));
    return aligned;
  }

  segment* segments_ = nullptr;
  page* given_back_ = nullptr;
};

}  // namespace heapledger::pool_detail

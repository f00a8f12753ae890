// The sites of a region of the segment: elements of their own for each stack, and for whatever else tells them apart.
// Found by a hash without a lock, added under one; shared by all threads.
#pragma once

#include "probe/base/lock.hpp"
#include "probe/publish/id_index.hpp"
#include "probe/publish/segment.hpp"
#include "probe/publish/stack_tree.hpp"

namespace heapledger::probe {

// `Site` has a `path`, the hash, and the `node` of its stack. Element 0 of the region is none.
template <class Site>
class site_index {
 public:
  using region = table<Site> segment_view::*;
  using counter = std::uint32_t wire::segment_header::*;

  constexpr site_index(region sites, counter count, wire::loss when_full)
      : sites_(sites), count_(count), when_full_(when_full) {}

  static std::uint64_t path_of(std::uint64_t stack, std::uint32_t kind) {
    const std::uint64_t path = (stack ^ kind) * 0x9e3779b97f4a7c15u;
    return path ^ path >> 29;
  }

  // 0: there is no room. `fill` makes a fresh one, but for its path.
  template <class Fill>
  std::uint32_t find_or_add(std::uint64_t path, Fill fill) {
    const std::uint32_t known = find(path);
    return HL_LIKELY(known != 0) ? known : add(path, fill);
  }

  bool is_one(std::uint32_t site) const {
    return site != 0 && __atomic_load_n(&created_, __ATOMIC_ACQUIRE) &&
           site < __atomic_load_n(&(segment.header->*count_), __ATOMIC_ACQUIRE);
  }

  // The segment is another one.
  void forget_all() {
    lock_ = 0;
    created_ = false;
  }
  // Code was unloaded, and the same addresses will mean other stacks; or it has come back.
  void follow_code() {
    lock_guard held(lock_);
    if (!created_) return;
    index_.clear([this] {
      for (std::uint32_t site = 1; site < segment.header->*count_; ++site)
        if (!tree.is_unloaded(at(site).node)) index_.add(at(site).path, site, path_in());
    });
  }

 private:
  Site& at(std::uint32_t site) const { return (segment.*sites_)[site]; }
  auto path_in() const {
    return [this](std::uint32_t site) { return at(site).path; };
  }

  std::uint32_t find(std::uint64_t path) const {
    if (!__atomic_load_n(&created_, __ATOMIC_ACQUIRE)) return 0;
    return index_.find(path, [=, this](std::uint32_t site) { return at(site).path == path; });
  }

  bool create() {
    if (created_) return true;
    if (!index_.create() || !commit(segment.*sites_, 1)) return false;
    at(0) = {};
    segment.header->*count_ = 1;
    __atomic_store_n(&created_, true, __ATOMIC_RELEASE);
    return true;
  }

  template <class Fill>
  HL_COLD std::uint32_t add(std::uint64_t path, Fill fill) {
    lock_guard held(lock_);
    if (!create()) return 0;
    if (const std::uint32_t known = find(path); known != 0) return known;
    const std::uint32_t fresh = segment.header->*count_;
    if (!commit(segment.*sites_, fresh + 1)) {
      count_loss(when_full_);
      return 0;
    }
    at(fresh) = {};
    fill(at(fresh));
    at(fresh).path = path;
    __atomic_store_n(&(segment.header->*count_), fresh + 1, __ATOMIC_RELEASE);
    index_.add(path, fresh, path_in());
    return fresh;
  }

  region sites_;
  counter count_;
  wire::loss when_full_;
  std::uint32_t lock_ = 0;
  bool created_ = false;
  id_index index_;
};

}  // namespace heapledger::probe

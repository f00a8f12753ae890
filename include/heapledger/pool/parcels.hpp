// Chunks on their way back to the arenas of other threads, thirty at a time.
//
// A thread that frees another thread's chunks notes their addresses in a parcel, and sends it when it is full. Nothing
// is written into the chunks, so their cache lines stay with whoever used them last, and there is one atomic exchange
// for a parcel instead of one for a chunk. Measured, one exchange for each chunk: it waits until the link just written
// into the chunk has arrived from the other processor.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <new>

#include "attributes.hpp"
#include "spin_lock.hpp"
#include "tool.hpp"

namespace heapledger::pool_detail {

struct parcel {
  static constexpr std::uint32_t most = 30;
  parcel* next = nullptr;
  std::uint64_t count = 0;
  link* chunks[most];
};

// Empty parcels, of one thread.
class parcel_stack {
 public:
  parcel_stack() = default;
  parcel_stack(const parcel_stack&) = delete;
  parcel_stack& operator=(const parcel_stack&) = delete;
  ~parcel_stack() {
    while (parcel* const one = pop()) delete one;
  }
  void push(parcel* one) {
    one->next = first_;
    first_ = one;
    ++count_;
  }
  parcel* pop() {
    parcel* const one = first_;
    if (one != nullptr) {
      first_ = one->next;
      --count_;
    }
    return one;
  }
  std::size_t count() const { return count_; }

 private:
  parcel* first_ = nullptr;
  std::size_t count_ = 0;
};

// Empty parcels for all threads: where one only sends and another one only receives, they go back through here, some at
// a time.
class parcel_depot {
 public:
  // Fills `to` up, from here or from the heap. False when there is no memory.
  bool supply(parcel_stack& to) {
    {
      const std::lock_guard hold(lock_);
      while (to.count() < at_once && stock_.count() != 0) to.push(stock_.pop());
    }
    if (to.count() == 0) {
      parcel* const fresh = new (std::nothrow) parcel;
      if (fresh == nullptr) return false;
      to.push(fresh);
    }
    return true;
  }
  void take_surplus(parcel_stack& from, std::size_t keep) {
    if (from.count() <= 2 * keep) return;
    const std::lock_guard hold(lock_);
    while (from.count() > keep) stock_.push(from.pop());
  }

  static constexpr std::size_t at_once = 16;

 private:
  spin_lock lock_;
  parcel_stack stock_;
};

// What others have sent to an arena. Release: what the sender did with the chunks is over before the owner hands them
// out. Partner: the acquire in take_all.
class parcel_inbox {
 public:
  parcel_inbox() = default;
  parcel_inbox(const parcel_inbox&) = delete;
  parcel_inbox& operator=(const parcel_inbox&) = delete;
  ~parcel_inbox() {
    for (parcel* one = take_all(); one != nullptr;) {
      parcel* const gone = one;
      one = one->next;
      delete gone;
    }
  }
  void put(parcel* one) {
    one->next = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(one->next, one, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  parcel* take_all() {
    if (head_.load(std::memory_order_relaxed) == nullptr) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  std::atomic<parcel*> head_ = nullptr;
};

// The parcels that a thread is filling, for up to four owners at a time.
template <class Owner>
class parcel_desk {
 public:
  parcel_desk() = default;
  parcel_desk(const parcel_desk&) = delete;
  parcel_desk& operator=(const parcel_desk&) = delete;
  ~parcel_desk() {
    for (place& one : places_) delete one.open;
  }

  // False when there is no memory for a parcel.
  HEAPLEDGER_POOL_HOT bool add(link* chunk, Owner* owner, parcel_depot& depot) {
    place& at = places_[reinterpret_cast<std::uintptr_t>(owner) / alignof(Owner) % 4];
    if (at.owner != owner && !begin(at, owner, depot)) [[unlikely]] {
      return false;
    }
    at.open->chunks[at.open->count++] = chunk;
    if (at.open->count == parcel::most) [[unlikely]] {
      send(at);
    }
    return true;
  }
  void send_all() {
    for (place& one : places_) {
      if (one.owner != nullptr) send(one);
    }
  }
  parcel_stack& spare() { return spare_; }

 private:
  struct place {
    Owner* owner = nullptr;
    parcel* open = nullptr;
  };

  HEAPLEDGER_POOL_COLD bool begin(place& at, Owner* owner, parcel_depot& depot) {
    if (at.owner != nullptr) send(at);
    if (spare_.count() == 0 && !depot.supply(spare_)) return false;
    at.open = spare_.pop();
    at.open->count = 0;
    at.owner = owner;
    return true;
  }
  HEAPLEDGER_POOL_COLD void send(place& at) {
    at.owner->inbox.put(at.open);
    at = {};
  }

  place places_[4];
  parcel_stack spare_;
};

}  // namespace heapledger::pool_detail

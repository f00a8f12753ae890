// What a scope is: its record, shared by all threads, and the life of records. docs/scopes.md says how it all works.
//
// A record is recycled; a handle names one use of it. Records never move, and their memory is never given back.
#pragma once

#include <emmintrin.h>

#include <cstddef>
#include <cstdint>

#include "probe/base/attributes.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

using scope_handle = std::uint64_t;  // generation << 32 | index; 0 is the whole process

inline constexpr std::int64_t no_limit = INT64_MAX / 4;
inline constexpr std::size_t live = static_cast<std::size_t>(wire::resource::live_bytes);
inline constexpr std::size_t allocated = static_cast<std::size_t>(wire::resource::allocated_bytes);
inline constexpr std::size_t calls = static_cast<std::size_t>(wire::resource::allocations);

// What a thread or a scope did.
struct alignas(16) totals {
  std::uint64_t allocations, allocated_bytes, frees, freed_bytes;

  std::int64_t live_bytes() const { return static_cast<std::int64_t>(allocated_bytes - freed_bytes); }
  totals& operator+=(const totals& other) {
    pair(0) = _mm_add_epi64(pair(0), other.pair(0));
    pair(1) = _mm_add_epi64(pair(1), other.pair(1));
    return *this;
  }
  totals& operator-=(const totals& other) {
    pair(0) = _mm_sub_epi64(pair(0), other.pair(0));
    pair(1) = _mm_sub_epi64(pair(1), other.pair(1));
    return *this;
  }

 private:
  __m128i& pair(int which) { return reinterpret_cast<__m128i*>(this)[which]; }
  const __m128i& pair(int which) const { return reinterpret_cast<const __m128i*>(this)[which]; }
};

enum class scope_state : std::uint64_t { unused, open, closed, retiring };

// What happened in a scope, for the one function that its maker attached.
enum class scope_event : int { threshold = 1, exceeded = 2 };
struct scope_notice {
  scope_handle scope;
  scope_event what;
  std::uint32_t index;  // threshold: which; exceeded: wire::resource
  std::uint64_t requested_bytes;
};
using scope_notify = void (*)(void* user, const scope_notice* notice);
using scope_destroy = void (*)(void* user);

inline constexpr std::uint32_t threshold_limit = 4;

struct books;

// Charged to a scope by hand, and not given back.
struct foreign_memory {
  std::int64_t bytes, blocks;
  std::int64_t above_bytes;  // charged by this scope's name to one above it, since it was closed
};

struct alignas(64) scope_record {
  // Read by every event in the scope; changes only when the scope begins or ends.
  std::uint64_t life;  // generation << 32 | scope_state
  std::uint32_t index;
  std::uint32_t kind;
  scope_record* parent;  // nullptr: the process
  std::int64_t limit[wire::resource_count];
  std::int64_t reserve_bytes;  // of live bytes above the limit, for code that must not fail
  bool limited;                // a limit or a threshold of its own
  bool exact;                  // every event is told at once: so its peak is known, whatever threads do
  bool gated;                  // one of these, of it or of an ancestor
  bool fail;                   // over budget, allocations fail
  std::uint32_t revoking;      // leases are being taken back: wait for the lock before using one
  std::uint32_t base_account;

  // Written by all threads, seldom.
  alignas(64) std::int64_t committed[wire::resource_count];
  std::int64_t peak_bytes;
  std::uint32_t contributors;  // threads with a slot
  std::uint32_t armed;         // thresholds that have not been crossed, a bit each
  std::uint32_t folds_begun, folds_ended;
  std::uint32_t workers_met;  // more than there is room for, if need be

  // The threads that had a slot first, and the accounts that each bound of its own: siblings, + 1. They are all, if as
  // many of them have a slot as there are contributors. So nobody need look at every thread.
  static constexpr std::uint32_t worker_count = 8;
  alignas(64) const books* workers[worker_count];
  std::uint32_t bound_by[worker_count];

  alignas(64) totals folded;  // of slots that were given up
  totals below;               // of descendants that were recycled

  alignas(64) scope_record* arrived;  // scopes made below it, pushed without the lock
  std::uint32_t next_listed;          // in a record_list: index; 0: the last
  std::uint32_t holds;                // hold_scope() without release_scope()

  // Under the lock.
  foreign_memory foreign;
  scope_record* first_child;
  scope_record* next_sibling;
  scope_record* previous_sibling;
  scope_record* next;           // in the list of closed records
  std::uint32_t first_account;  // + 1, of those that no thread bound of its own
  std::uint32_t seen_touched;   // in which look through the closed a thread touched it
  std::uint32_t threshold_count;
  std::int64_t thresholds[threshold_limit];
  void* user;
  std::uint64_t user_kind;  // who understands it
  scope_notify notify;
  scope_destroy destroy;
};

inline std::uint32_t known_workers(const scope_record& record) {
  const std::uint32_t met = __atomic_load_n(&record.workers_met, __ATOMIC_ACQUIRE);
  return met < scope_record::worker_count ? met : scope_record::worker_count;
}
// Those that were in it, each of which may have bytes that the peak knows nothing of; more than there were, where many
// came and went.
inline std::uint32_t threads_met(const scope_record& record) {
  const std::uint32_t met = __atomic_load_n(&record.workers_met, __ATOMIC_RELAXED);
  const std::uint32_t now = __atomic_load_n(&record.contributors, __ATOMIC_RELAXED);
  return met > now ? met : now;
}
// Whether live bytes in it need leases.
inline bool bounds_live(const scope_record& record) {
  return record.limit[live] != no_limit || record.threshold_count != 0;
}
inline scope_state state_of(std::uint64_t life) {
  return static_cast<scope_state>(life & 3);
}
inline std::uint64_t load_life(const scope_record& record) {
  return __atomic_load_n(&record.life, __ATOMIC_ACQUIRE);
}
inline scope_handle handle_of(const scope_record& record, std::uint64_t life) {
  return (life & ~std::uint64_t{0xffffffff}) | record.index;
}
inline std::uint32_t index_of(scope_handle handle) {
  return static_cast<std::uint32_t>(handle);
}
// Whether the handle still names this record, whatever its state.
inline bool names(scope_handle handle, std::uint64_t life) {
  return (handle ^ life) >> 32 == 0 && state_of(life) != scope_state::unused;
}
// The record's life once nobody is about to retire what the handle names.
std::uint64_t settled_life(const scope_record& record, scope_handle handle);

// nullptr where no such record was ever made.
scope_record* record_at(std::uint32_t index);

struct scope_budget {
  std::int64_t limit[wire::resource_count];
  std::int64_t reserve_bytes;  // part of the limit on live bytes
  bool fail;
};

// What hangs on a scope.
struct scope_attachment {
  void* user;
  std::uint64_t user_kind;
  scope_notify notify;
  scope_destroy destroy;
};

// 0 when there is no room, which is counted; the scope's work is then its parent's, and nothing is attached. `own` is
// taken. Takes no lock where a scope of the kind was recycled.
scope_handle open_scope(books& own, const char* name, std::size_t name_bytes, scope_handle parent,
                        const scope_budget& budget, const scope_attachment& attachment = {});
void close_scope(books& own, scope_handle handle);
// The nearest ancestor of the scope that is open, or the scope itself; 0 is the process.
scope_handle nearest_open(scope_handle handle);

// Until release_scope() it is not recycled, and neither is what is above it. False for a stale handle.
bool hold_scope(books& own, scope_handle handle);
void release_scope(scope_handle handle);

// One of the records that were recycled and have something to destroy, already free for use: call until nullptr.
struct scope_remains {
  scope_destroy destroy;
  void* user;
};
bool take_remains(scope_remains& out);

// Takes the lock of the table of scopes; for usage.cpp and budget.cpp, which look at the books of all threads.
HL_INTERNAL extern std::uint32_t scopes_lock;
// Closed scopes that are let pile up before they are looked through; a test of all interleavings wants fewer.
HL_INTERNAL extern std::uint32_t fewest_to_look_through;
// Slots of a thread that are used, likewise.
HL_INTERNAL extern std::uint32_t slots_used;
// Makes the stores of all threads visible, or those before it visible to them; false where the kernel cannot.
bool barrier_of_all_threads();

// New books: every handle is stale. `unmap`: nobody goes on with an event that began before.
void reset_scopes(bool unmap = true);

}  // namespace heapledger::probe

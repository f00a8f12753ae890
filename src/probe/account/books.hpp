// The books of one thread: everything that booking an event touches, written with plain stores by this thread alone.
//
// The cells, the thread's totals and the size histogram live in the segment; the rest is private. A `books` outlives
// its thread and is handed to a later one, which thereby owns the same accounts. A signal handler that interrupts a
// booking gets books of its own (`nested`).
#pragma once

#include <emmintrin.h>

#include "probe/account/recent_accounts.hpp"
#include "probe/account/stack_ends.hpp"
#include "probe/base/attributes.hpp"
#include "probe/publish/segment.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {

// What is known of a block's life; lives are counted in nanoseconds from the segment's start.
struct ended_life {
  bool known;
  std::uint64_t born_ns;
  std::uint64_t lived_ns;
};

// `generation` is 0 before the probe is ready, and again in a forked child (the page is wiped on fork); it grows when
// code is unloaded.
struct alignas(4096) process_page {
  std::uint64_t generation;
  std::uint32_t lock;  // held while a forked child begins its books: never inherited as held
  bool ends;           // our destructors ran; those of other libraries may still free
};
HL_INTERNAL extern process_page process;

struct thread_scopes;  // probe/scope/slots.hpp
void forget_scope_accounts(thread_scopes& of);
HL_INTERNAL extern wire::cell no_cell;  // never settled, so that no fast path books there

struct alignas(64) books {  // whole cache lines: the sets of `recent` lie behind it
  // What a thread must find in its books to go on: the process's generation, which has its highest bit set. While an
  // event is booked: the stack position of that event, an address, which has not. 0: they are nobody's.
  static constexpr std::uint64_t first_generation = std::uint64_t{1} << 63;
  static constexpr std::uint64_t held = first_generation - 1;  // busy, and not by an event that longjmp could leave
  static constexpr std::uint64_t never = 1;                    // of no_books
  static bool busy(std::uint64_t generation) { return generation - 2 < first_generation - 2; }
  std::uint64_t generation;
  // What a booking stores last, in turn, and what it reads: one cache line. In scopes without stacks list took 1.24 of
  // bare so, and 1.25 with the three stores in two lines.
  const void* last_block;  // allocated last; freed next, it is a temporary
  // Net bytes of this thread. Beyond the marks the slow path looks at the peak (see peak.cpp), and at the leases of
  // the scopes that the thread is in.
  std::int64_t live;
  std::int64_t publish_above;
  wire::thread* thread;
  wire::writer* writer;
  // What `stack` was booked to last; forgotten when one of this thread's cells is folded away.
  wire::cell* recent_cell;
  std::uint32_t recent_account;
  std::uint32_t id;  // whose accounts the fast paths may book in: writer_id, but nobody's in a scope

  std::int64_t publish_below;
  std::int64_t peak_mark;
  std::int64_t published;
  std::uint64_t known_generation;  // the one that the remembered stack belongs to
  wire::cell* deltas;
  std::uint32_t delta_shift;
  std::uint32_t delta_count;

  books* nested;
  books* next_free;
  std::uint32_t evictions;
  std::uint32_t writer_id;  // writer + 1
  bool gated;               // in a scope with a budget
  std::uint64_t here;       // handle of the scope that the thread is in; 0: in none
  thread_scopes* scopes;    // nullptr until this thread met a scope
  books* next_made;         // of all books ever made
  std::uint32_t birth;      // of the process whose books they are; another process is a fork of it
  std::uint64_t watch_random;
  ended_life last_life;  // of what was freed last; for a realloc that fails. hook/lifetime.hpp
  stack_walk stack;
  recent_accounts recent;
  stack_ends ends;

  HL_HOT wire::cell& cell_of(std::uint32_t account);
  void forget_recent() {
    recent_account = UINT32_MAX;
    recent_cell = &no_cell;
  }
  void forget_code() {
    stack.forget();
    forget_accounts();
  }
  void forget_accounts() {
    recent.forget();
    ends.forget();
    forget_recent();
    if (scopes != nullptr) forget_scope_accounts(*scopes);
  }
};

// One event of so many bytes.
HL_HOT __m128i event_of(std::uint64_t bytes) {
  alignas(16) static constexpr std::uint64_t one[2] = {1, 0};
  return _mm_or_si128(_mm_slli_si128(_mm_cvtsi64_si128(static_cast<long long>(bytes)), 8),
                      _mm_load_si128(reinterpret_cast<const __m128i*>(one)));
}

// A pair of counters that a kill finds both old or both new.
HL_HOT void add_pair(std::uint64_t& count, std::uint64_t bytes) {
  auto* pair = reinterpret_cast<__m128i*>(&count);
  const __m128i delta = event_of(bytes);
  _mm_store_si128(pair, _mm_add_epi64(_mm_load_si128(pair), delta));
}

HL_HOT void take_back_pair(std::uint64_t& count, std::uint64_t bytes) {
  auto* pair = reinterpret_cast<__m128i*>(&count);
  const __m128i delta = event_of(bytes);
  _mm_store_si128(pair, _mm_sub_epi64(_mm_load_si128(pair), delta));
}

HL_INTERNAL extern std::uint32_t peak_epoch;  // the header's, mirrored where no reader's cache line is

HL_HOT bool peak_settled(const wire::cell& cell) {
  return cell.peak_epoch == __atomic_load_n(&peak_epoch, __ATOMIC_RELAXED);
}

// Called before the cell changes for the first time since the peak moved: its net bytes are what it held then.
HL_HOT void settle_peak(wire::cell& cell, std::uint32_t epoch) {
  if (HL_UNLIKELY(cell.peak_epoch != epoch)) {
    cell.peak_bytes = static_cast<std::int64_t>(cell.allocated_bytes - cell.freed_bytes);
    asm volatile("" ::: "memory");  // a kill in between leaves the old epoch, which says the same
    cell.peak_epoch = epoch;
  }
}
HL_HOT void settle_peak(wire::cell& cell) {
  settle_peak(cell, __atomic_load_n(&peak_epoch, __ATOMIC_RELAXED));
}

HL_COLD wire::cell& delta_cell_slow(books& own, std::uint32_t account);
HL_COLD void peak_passed(books& own);    // live > peak_mark, before a free
HL_COLD void publish_live(books& own);   // live left (publish_below, publish_above); or the thread ends
void set_publication_marks(books& own);  // publish_below and publish_above, as if there were no leases

// The only books ever made, by their id, as long as there are no others and no scopes: what it finds in a tag is its
// own. In a program of many stacks the account's key is a cache line that need not be waited for.
HL_INTERNAL extern std::uint32_t sole_writer;
inline constexpr std::uint32_t no_sole_writer = UINT32_MAX;

// What scope/ does for events once a scope was made.
HL_INTERNAL extern bool scopes_in_use;
void book_free_with_scopes(books& own, std::uint32_t account, const void* block, std::size_t bytes);
HL_COLD void unbook_free_with_scopes(books& own, std::uint32_t account, std::size_t bytes, const void* last);
HL_COLD bool scope_peak_passed(books& own);                 // false: the process's own mark is not passed
HL_COLD void settle_scope(books& own);                      // brings the thread's slots and marks up to date
HL_COLD void set_peak_mark(books& own, std::int64_t mark);  // the process's
HL_COLD std::int64_t process_peak_mark(const books& own);

HL_HOT std::uint32_t delta_slot(const books& own, std::uint32_t account) {
  return static_cast<std::uint32_t>((account + 1) * 0x9e3779b1u) >> own.delta_shift;
}

// Where this thread books what belongs to a scope's account; likewise of any account once a scope was made.
HL_HOT wire::cell* known_cell(const books& own, std::uint32_t account) {
  if ((segment.account_keys[account].owner & wire::owner_writer) == own.writer_id) return &segment.accounts[account];
  wire::cell& delta = own.deltas[delta_slot(own, account)];
  return HL_LIKELY(delta.id == account + 1) ? &delta : nullptr;
}

HL_HOT wire::cell& books::cell_of(std::uint32_t account) {
  // The owner is kept apart from the cell: its line would bounce between the owner's stores and others' looks.
  if (account == recent_account) return *recent_cell;
  if (HL_LIKELY(segment.account_keys[account].owner == id)) return segment.accounts[account];
  wire::cell& delta = deltas[delta_slot(*this, account)];
  if (HL_LIKELY(delta.id == account + 1)) return delta;
  return delta_cell_slow(*this, account);
}

// Of twice the size and one the highest bit stands where that of the size has its number, and for 0 there is one.
HL_HOT unsigned size_bucket(std::size_t bytes) {
  return 63 - static_cast<unsigned>(__builtin_clzl(2 * bytes + 1));
}

// The rest of an event, once its cell is known and settled.
HL_HOT void add_allocation(books& own, wire::cell& cell, const void* block, std::size_t bytes) {
  add_pair(cell.allocations, bytes);
  add_pair(own.thread->allocations, bytes);
  ++own.writer->sizes[size_bucket(bytes)];
  own.last_block = block;
  own.live += static_cast<std::int64_t>(bytes);
}

HL_HOT void add_free(books& own, wire::cell& cell, const void* block, std::size_t bytes) {
  add_pair(cell.frees, bytes);
  if (own.last_block == block) {
    ++cell.temporaries;
    own.last_block = nullptr;
  }
  add_pair(own.thread->frees, bytes);
  own.live -= static_cast<std::int64_t>(bytes);
}

HL_HOT void book_allocation(books& own, wire::cell& cell, const void* block, std::size_t bytes) {
  settle_peak(cell);
  add_allocation(own, cell, block, bytes);
  if (HL_UNLIKELY(own.live > own.publish_above)) publish_live(own);
}

HL_HOT void book_free(books& own, std::uint32_t account, const void* block, std::size_t bytes) {
  if (HL_UNLIKELY(own.live > own.peak_mark)) peak_passed(own);
  if (HL_UNLIKELY(scopes_in_use)) return book_free_with_scopes(own, account, block, bytes);
  wire::cell& cell = own.cell_of(account);
  settle_peak(cell);
  add_free(own, cell, block, bytes);
  if (HL_UNLIKELY(own.live < own.publish_below)) publish_live(own);
}

// A realloc that failed after its block was booked as freed: the block is still there. `last`: it was allocated last
// before; nullptr: another was.
HL_COLD void unbook_free(books& own, std::uint32_t account, std::size_t bytes, const void* last);
// Its part that the account and the thread have; `cell` is the thread's now.
void take_back_free(books& own, wire::cell& cell, std::uint32_t account, std::size_t bytes, const void* last);

}  // namespace heapledger::probe

// A snapshot adds up all cells into memory of its own while no fold can move numbers between them, and writes what it
// found into the segment. Other threads go on booking meanwhile: of each of their events it has all or nothing. Nobody
// waits for it but a thread that wants to fold.
#include "probe/account/snapshot.hpp"

#include <emmintrin.h>

#include "probe/account/books.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "wire/snapshot.hpp"

namespace heapledger::probe {
namespace {

constinit std::uint32_t markers_lock = 0;

struct all_folds_held {
  all_folds_held() {
    for (auto& fold : segment.header->folds) lock_word(fold.lock);
  }
  ~all_folds_held() {
    for (auto& fold : segment.header->folds) unlock_word(fold.lock);
  }
  all_folds_held(const all_folds_held&) = delete;
  all_folds_held& operator=(const all_folds_held&) = delete;
};

// Both counters of a pair, or none: they are written by one store.
void add_pair_of(const std::uint64_t& pair, std::uint64_t& count, std::uint64_t& bytes) {
  const __m128i both = _mm_load_si128(reinterpret_cast<const __m128i*>(&pair));
  count += static_cast<std::uint64_t>(_mm_cvtsi128_si64(both));
  bytes += static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm_unpackhi_epi64(both, both)));
}

void add(wire::account_counters& sum, const wire::cell& cell, std::uint32_t epoch) {
  wire::account_counters one{};
  add_pair_of(cell.allocations, one.allocations, one.allocated_bytes);
  add_pair_of(cell.frees, one.frees, one.freed_bytes);
  sum.allocations += one.allocations;
  sum.allocated_bytes += one.allocated_bytes;
  sum.frees += one.frees;
  sum.freed_bytes += one.freed_bytes;
  sum.temporaries += cell.temporaries;
  sum.reallocations += cell.reallocations;
  sum.peak_bytes +=
      cell.peak_epoch == epoch ? cell.peak_bytes : static_cast<std::int64_t>(one.allocated_bytes - one.freed_bytes);
}

class all_accounts {
 public:
  all_accounts()
      : count_(__atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE)),
        sums_(static_cast<wire::account_counters*>(own_map(bytes()))) {}
  ~all_accounts() {
    if (sums_ != nullptr) own_unmap(sums_, bytes());
  }
  all_accounts(const all_accounts&) = delete;
  all_accounts& operator=(const all_accounts&) = delete;

  explicit operator bool() const { return sums_ != nullptr; }

  void add_up() {
    const all_folds_held quiet;
    const wire::segment_header& header = *segment.header;
    const std::uint32_t epoch = header.peak_epoch;
    for (std::uint32_t i = 0; i < count_; ++i) add(sums_[i], segment.accounts[i], epoch);
    const std::uint32_t cells = __atomic_load_n(&header.cell_count, __ATOMIC_ACQUIRE);
    for (std::uint32_t i = 0; i < cells; ++i) {
      const std::uint32_t id = segment.cells[i].id;
      if (id != 0 && id <= count_) add(sums_[id - 1], segment.cells[i], epoch);
    }
  }

  void total(wire::marker& of) {
    for (std::uint32_t i = 0; i < count_; ++i) {
      of.live_blocks += static_cast<std::int64_t>(sums_[i].allocations - sums_[i].frees);
      of.live_bytes += live_bytes(i);
    }
    if (of.live_bytes <= __atomic_load_n(&segment.header->peak_bytes, __ATOMIC_RELAXED)) return;
    for (std::uint32_t i = 0; i < count_; ++i) sums_[i].peak_bytes = live_bytes(i);  // now is the peak
  }

  // 0 when there is no room.
  std::uint32_t write(std::uint32_t from) const {
    std::uint32_t at = from;
    std::uint32_t last = 0;
    for (std::uint32_t i = 0; i < count_; ++i) {
      if (i != 0 && wire::is_blank(sums_[i])) continue;  // the first makes it a snapshot
      if (!commit(segment.snapshots, at + wire::snapshot_entry_limit)) return 0;
      const char* const end = wire::put_entry(&segment.snapshots[at], i - last, sums_[i]);
      at = static_cast<std::uint32_t>(end - segment.snapshots.data);
      last = i;
    }
    return at;
  }

 private:
  std::size_t bytes() const { return count_ * sizeof(wire::account_counters); }
  std::int64_t live_bytes(std::uint32_t account) const {
    return static_cast<std::int64_t>(sums_[account].allocated_bytes - sums_[account].freed_bytes);
  }

  std::uint32_t count_;
  wire::account_counters* sums_;
};

void take_totals(wire::marker& to) {
  const std::uint32_t threads = __atomic_load_n(&segment.header->thread_count, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < threads; ++i) {
    wire::account_counters one{};
    add_pair_of(segment.threads[i].allocations, one.allocations, one.allocated_bytes);
    add_pair_of(segment.threads[i].frees, one.frees, one.freed_bytes);
    to.live_blocks += static_cast<std::int64_t>(one.allocations - one.frees);
    to.live_bytes += static_cast<std::int64_t>(one.allocated_bytes - one.freed_bytes);
  }
}

void take_snapshot(wire::marker& to) {
  all_accounts accounts;
  if (!accounts) {
    take_totals(to);
    return count_loss(wire::loss::snapshots_full);
  }
  accounts.add_up();
  accounts.total(to);
  std::uint32_t& used = segment.header->snapshot_bytes;
  const std::uint32_t end = accounts.write(used);
  if (end == 0) return count_loss(wire::loss::snapshots_full);
  to.snapshot_offset = used;
  to.snapshot_bytes = end - used;
  __atomic_store_n(&used, end, __ATOMIC_RELEASE);
}

void add_marker(const char* name, bool with_books) {
  lock_guard held(markers_lock);
  wire::segment_header& header = *segment.header;
  const std::uint32_t fresh = header.marker_count;
  if (!commit(segment.markers, fresh + 1)) return count_loss(wire::loss::markers_full);
  wire::marker& marker = segment.markers[fresh];
  marker = {};
  marker.monotonic_ns = sys::clock_ns(sys::clock_monotonic);
  for (std::size_t i = 0; name != nullptr && i + 1 < wire::marker_name_capacity && name[i] != 0; ++i)
    marker.name[i] = name[i];
  if (with_books)
    take_snapshot(marker);
  else
    take_totals(marker);
  const auto kind = marker.snapshot_bytes != 0 ? wire::marker_kind::snapshot : wire::marker_kind::mark;
  __atomic_store_n(&marker.kind, kind, __ATOMIC_RELEASE);
  __atomic_store_n(&header.marker_count, fresh + 1, __ATOMIC_RELEASE);
}

}  // namespace

void add_mark(const char* name) {
  add_marker(name, false);
}

void add_snapshot(const char* name) {
  add_marker(name, true);
}

void reset_markers() {
  markers_lock = 0;
}

}  // namespace heapledger::probe

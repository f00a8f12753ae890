// The peak of live bytes.
//
// One thread: exact. A peak can only end at a free, so a free that finds more live bytes than ever before first opens
// a new epoch; each cell, at its first change in a new epoch, notes the net bytes it held until then: what it held at
// the peak. Nothing else is done, however many accounts there are.
//
// Several threads: each publishes its net bytes whenever they have moved by hold_back_bytes, and a publication that
// lifts the sum above the known peak opens the epoch. The peak is then known within threads times hold_back_bytes.
#include "probe/account/books.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

constinit std::uint32_t peak_epoch = 0;

namespace {

constexpr std::int64_t hold_back_bytes = 32 * 1024;
constexpr std::int64_t watching_bytes = 4 * 1024;  // the leak watch is answered at publications, among others

void open_epoch(wire::segment_header& header) {
  // A cell that still sees the old epoch books its event as part of the peak: within the stated error.
  const std::uint32_t fresh = __atomic_add_fetch(&peak_epoch, 1, __ATOMIC_RELAXED);
  // Never back: another thread may have opened a later one meanwhile.
  std::uint32_t known = __atomic_load_n(&header.peak_epoch, __ATOMIC_RELAXED);
  while (static_cast<std::int32_t>(fresh - known) > 0 &&
         !__atomic_compare_exchange_n(&header.peak_epoch, &known, fresh, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

std::int64_t shares_of(std::int64_t bytes) {
  return (bytes + hold_back_bytes - 1) / hold_back_bytes;
}

}  // namespace

HL_COLD void peak_passed(books& own) {
  if (own.scopes != nullptr && !scope_peak_passed(own)) return;
  wire::segment_header& header = *segment.header;
  if (header.threaded != 0) {
    set_peak_mark(own, INT64_MAX);
    publish_live(own);
    return;
  }
  set_peak_mark(own, own.live);
  open_epoch(header);
  header.peak_bytes = own.live;
  header.peak_threads = 0;
}

void set_publication_marks(books& own) {
  const std::int64_t step = watching.mark_count == 0 ? hold_back_bytes : watching_bytes;
  own.publish_above = own.published + step;
  own.publish_below = own.published - step;
}

HL_COLD void publish_live(books& own) {
  if (own.gated && own.live - own.published <= hold_back_bytes && own.published - own.live <= hold_back_bytes)
    return settle_scope(own);  // a lease was met, no more
  wire::segment_header& header = *segment.header;
  const std::int64_t now = __atomic_add_fetch(&header.live_bytes, own.live - own.published, __ATOMIC_RELAXED);
  own.published = own.live;
  set_publication_marks(own);
  header.hold_back_bytes = hold_back_bytes;
  header.private_bytes = own_bytes();
  look_at_watch();
  if (own.scopes != nullptr) settle_scope(own);
  if (header.threaded == 0) {
    if (own.live > process_peak_mark(own)) header.peak_monotonic_ns = sys::clock_ns(sys::clock_monotonic);
    return;
  }
  set_peak_mark(own, INT64_MAX);
  std::int64_t known = __atomic_load_n(&header.peak_bytes, __ATOMIC_RELAXED);
  const std::uint32_t threads_before = header.peak_threads;
  while (now > known)
    if (__atomic_compare_exchange_n(&header.peak_bytes, &known, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
      open_epoch(header);
      // What others freed between the sum and the epoch is missing in what their cells note.
      const std::int64_t missed = now - __atomic_load_n(&header.live_bytes, __ATOMIC_RELAXED);
      const std::int64_t more = missed > 0 ? shares_of(missed) : 0;
      // Those that held bytes back after the peak before may have been above this one, and have ended since.
      const std::int64_t unseen = threads_before - (now - known) / hold_back_bytes;
      std::int64_t threads = registered_books() + more;
      if (unseen > threads) threads = unseen;
      header.peak_threads = static_cast<std::uint32_t>(threads);
      if (header.peak_threads < registered_books()) header.peak_threads = registered_books();  // one more just now
      header.peak_monotonic_ns = sys::clock_ns(sys::clock_monotonic);
      return;
    }
}

HL_COLD void unbook_free(books& own, std::uint32_t account, std::size_t bytes, const void* last) {
  if (scopes_in_use) return unbook_free_with_scopes(own, account, bytes, last);
  take_back_free(own, own.cell_of(account), account, bytes, last);
}

}  // namespace heapledger::probe

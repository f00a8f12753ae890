#include "probe/scope/usage.hpp"

#include "probe/account/registry.hpp"
#include "probe/base/lock.hpp"
#include "probe/scope/budget.hpp"
#include "probe/scope/children.hpp"

namespace heapledger::probe {
namespace {

constexpr unsigned patience = 1000;  // looks at a thread that is changing its slots
constexpr unsigned before_yielding = 50;

const scope_slot* find_slot(const thread_scopes& of, scope_handle handle) {
  std::uint32_t at = __atomic_load_n(&of.buckets[index_of(handle) % thread_scopes::bucket_count], __ATOMIC_RELAXED);
  // The chain may change under us: then the sequence number says so, but the walk must end.
  for (std::uint32_t steps = 0; at != 0 && at <= thread_scopes::slot_count && steps < thread_scopes::slot_count;
       ++steps) {
    const scope_slot& slot = of.slots[at - 1];
    if (__atomic_load_n(&slot.handle, __ATOMIC_RELAXED) == handle) return &slot;
    at = __atomic_load_n(&slot.next, __ATOMIC_RELAXED);
  }
  return nullptr;
}

// What `read` returns while the thread does not change its slots.
template <class Value, class Read>
bool undisturbed(const thread_scopes& of, Value& out, Read read) {
  for (unsigned tried = 0; tried < patience; ++tried) {
    if (tried > before_yielding) sys::yield();
    const std::uint32_t before = __atomic_load_n(&of.sequence, __ATOMIC_ACQUIRE);
    if (before % 2 != 0) continue;
    const Value found = read();
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    if (__atomic_load_n(&of.sequence, __ATOMIC_RELAXED) != before) continue;
    out = found;
    return true;
  }
  return false;
}

struct part {
  bool has_slot;
  totals did;  // with the thread's open difference, if it is in the scope
};

// False where the thread would not hold still.
bool read_thread(const books& thread, scope_handle handle, part& out) {
  const thread_scopes* of = __atomic_load_n(&thread.scopes, __ATOMIC_ACQUIRE);
  out = {};
  if (of == nullptr) return true;
  return undisturbed(*of, out, [&thread, of, handle] {
    const scope_slot* slot = find_slot(*of, handle);
    if (slot == nullptr) return part{};
    part found{true, slot->counts};
    if (__atomic_load_n(&of->current, __ATOMIC_RELAXED) == slot) {
      found.did += net_totals(thread);
      found.did -= of->mark;
    }
    return found;
  });
}

// Calls `look` with threads that may have a slot of the scope, each once, until it says no.
template <class Look>
void for_workers(const scope_record& record, Look look) {
  const books* seen[scope_record::worker_count];
  std::uint32_t count = 0;
  for (const books* const& place : record.workers) {
    const books* const worker = __atomic_load_n(&place, __ATOMIC_RELAXED);
    bool is_new = worker != nullptr;
    for (std::uint32_t i = 0; i < count; ++i) is_new = is_new && seen[i] != worker;
    if (!is_new) continue;
    seen[count++] = worker;
    if (!look(*worker)) return;
  }
}

// Where the record knows all threads that have a slot.
bool sum_of_workers(const scope_record& record, scope_handle handle, totals& out) {
  const std::uint32_t contributors = __atomic_load_n(&record.contributors, __ATOMIC_ACQUIRE);
  if (contributors > scope_record::worker_count) return false;
  std::uint32_t found = 0;
  totals sum{};
  for_workers(record, [&](const books& worker) {
    part of;
    if (!read_thread(worker, handle, of)) return false;
    found += of.has_slot;
    sum += of.did;
    return found < contributors;
  });
  if (found != contributors || __atomic_load_n(&record.contributors, __ATOMIC_ACQUIRE) != contributors) return false;
  out = sum;
  return true;
}

bool sum_of_all(scope_handle handle, totals& out) {
  out = {};
  for (const books* each = all_books(); each != nullptr; each = each->next_made) {
    part of;
    if (!read_thread(*each, handle, of)) return false;
    out += of.did;
  }
  return true;
}

// Each is read before the next look at whether threads are folding.
totals settled_totals(const totals& all) {
  const auto load = [](const std::uint64_t& value) { return __atomic_load_n(&value, __ATOMIC_ACQUIRE); };
  return {load(all.allocations), load(all.allocated_bytes), load(all.frees), load(all.freed_bytes)};
}

// With what threads have not told the record.
std::int64_t peak_of(const scope_record& record, scope_handle handle) {
  std::int64_t highest = 0;
  const auto look = [&](const books& thread) {
    const thread_scopes* of = __atomic_load_n(&thread.scopes, __ATOMIC_ACQUIRE);
    std::int64_t open = 0;
    if (of != nullptr && undisturbed(*of, open, [=] { return open_peak_of(*of, handle); }) && open > highest)
      highest = open;
    return true;
  };
  if (__atomic_load_n(&record.workers_met, __ATOMIC_ACQUIRE) <= scope_record::worker_count)
    for_workers(record, look);
  else
    for (const books* each = all_books(); each != nullptr; each = each->next_made) look(*each);
  const std::int64_t known = __atomic_load_n(&record.peak_bytes, __ATOMIC_RELAXED);
  return highest > known ? highest : known;
}

void add_own_usage(const scope_record& record, scope_handle handle, totals& sum) {
  totals did;
  for (unsigned tried = 0; tried < patience && !sum_of_threads(record, handle, did); ++tried) sys::yield();
  sum += did;
}

void add_usage(scope_record& record, scope_handle handle, bool alone, totals& sum) {
  add_own_usage(record, handle, sum);
  if (alone) return;
  sum += record.below;
  for (scope_record* each = next_below(record, record); each != nullptr; each = next_below(record, *each)) {
    add_own_usage(*each, handle_of(*each, load_life(*each)), sum);
    sum += each->below;
  }
}

// Of a scope that has no children any more: no lock. False where it has, or would not hold still.
bool add_usage_of_childless(const scope_record& record, scope_handle handle, bool alone, totals& sum) {
  const at_rest whole(record);
  if (!alone && !is_childless(record)) return false;
  totals did;
  if (!sum_of_threads(record, handle, did)) return false;
  if (!alone) did += settled_totals(record.below);
  if (!whole.still()) return false;
  sum += did;
  return true;
}

totals read_usage(scope_record& record, scope_handle handle, bool alone) {
  totals sum{};
  if (!add_usage_of_childless(record, handle, alone, sum)) {
    const lock_guard held(scopes_lock);
    add_usage(record, handle, alone, sum);
  }
  return sum;
}

bool same(const totals& a, const totals& b) {
  return a.allocations == b.allocations && a.allocated_bytes == b.allocated_bytes && a.frees == b.frees &&
         a.freed_bytes == b.freed_bytes;
}

// Nothing that it knows of was more than what was ever allocated: what threads have leased, and never used, was not.
std::int64_t truthful_peak(scope_record& record, scope_handle handle, const totals& all) {
  const std::int64_t lived = all.live_bytes();
  // As they only grow, what they were twice they were at once; what is seen here is not to be less the next time.
  if (lived > __atomic_load_n(&record.peak_bytes, __ATOMIC_RELAXED) && same(all, read_usage(record, handle, false)))
    note_peak(record, lived);
  const std::int64_t known = peak_of(record, handle);
  const std::int64_t peak = lived > known ? lived : known;
  const auto most = static_cast<std::int64_t>(all.allocated_bytes);
  return peak < most ? peak : most;
}

// Books are as many as threads ever were at once.
std::int64_t error_of_peak(const scope_record& record) {
  const std::uint32_t met = threads_met(record);
  const std::uint32_t books = __atomic_load_n(&segment.header->writer_count, __ATOMIC_RELAXED);
  const std::uint32_t threads = met < books ? met : books;
  return threads > 1 ? most_unseen_bytes(record) * threads : 0;
}

void usage_of_scope(scope_record& record, scope_handle handle, bool alone, scope_usage& out) {
  const totals sum = read_usage(record, handle, alone);
  const totals all = alone ? read_usage(record, handle, false) : sum;
  out = {sum.live_bytes(),
         static_cast<std::int64_t>(sum.allocations - sum.frees),
         truthful_peak(record, handle, all),
         sum.allocated_bytes,
         sum.allocations,
         sum.frees,
         error_of_peak(record)};
}

void usage_of_process(scope_usage& out) {
  const wire::segment_header& header = *segment.header;
  totals sum{};
  const std::uint32_t count = __atomic_load_n(&header.thread_count, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = 0; i < count; ++i) {
    const wire::thread& thread = segment.threads[i];
    sum += {thread.allocations, thread.allocated_bytes, thread.frees, thread.freed_bytes};
  }
  const std::int64_t known = __atomic_load_n(&header.peak_bytes, __ATOMIC_RELAXED);
  const std::uint32_t threads = header.peak_threads > registered_books() ? header.peak_threads : registered_books();
  out = {sum.live_bytes(),
         static_cast<std::int64_t>(sum.allocations - sum.frees),
         sum.live_bytes() > known ? sum.live_bytes() : known,
         sum.allocated_bytes,
         sum.allocations,
         sum.frees,
         header.threaded != 0 ? static_cast<std::int64_t>(header.hold_back_bytes) * threads : 0};
}

}  // namespace

bool has_slot(const thread_scopes& of, scope_handle handle) {
  return find_slot(of, handle) != nullptr;
}

bool sum_of_threads(const scope_record& record, scope_handle handle, totals& out) {
  out = {};
  const at_rest whole(record);
  if (!whole.still()) return false;
  if (!sum_of_workers(record, handle, out) && !sum_of_all(handle, out)) return false;
  out += settled_totals(record.folded);
  return whole.still();
}

bool usage_of(books& own, scope_handle handle, bool alone, scope_usage& out) {
  if (handle == 0) {
    usage_of_process(out);
    return true;
  }
  thread_scopes* const mine = thread_scopes_of(own);
  if (mine == nullptr) return false;
  const in_hand scope(*mine, handle);
  if (!scope) return false;
  usage_of_scope(*scope, handle, alone, out);
  return true;
}

}  // namespace heapledger::probe

// Closed scopes: they pile up, are looked through, and those that nobody needs any more are recycled.
#include "probe/scope/recycling.hpp"

#include "probe/account/registry.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/children.hpp"
#include "probe/scope/records.hpp"
#include "probe/scope/usage.hpp"

namespace heapledger::probe {

constinit std::uint32_t fewest_to_look_through = 64;

namespace {

constinit scope_record* closed = nullptr;   // those that were looked at, and could not be recycled
constinit record_list remains;              // recycled, but for what their makers want destroyed
constinit std::uint32_t look_at = 64;       // when there are so many
constinit std::uint32_t found_no_room = 0;  // since the last look
constinit std::uint32_t processors = 0;     // 0: not known
struct alignas(64) shared_count {
  std::uint32_t value;
};
constinit shared_count closed_count = {};  // of all, but for what threads have not counted yet
constexpr std::uint32_t lot_of_closed = 8, fewest_by_lots = 64;
constinit bool barrier_known = false, barrier_works = false;

constexpr int membarrier_register = 1 << 4, membarrier_expedited = 1 << 3;

// In whose hands scopes are, looked up once for all that are closed: which ones threads are in, and which ones they
// touch from elsewhere. Few threads are in the middle of moving a block; all that they have a slot for may be in their
// hands.
class hands {
 public:
  hands() {
    ++looks;
    for (const books* each = all_books(); each != nullptr; each = each->next_made) {
      const thread_scopes* of = __atomic_load_n(&each->scopes, __ATOMIC_ACQUIRE);
      if (of == nullptr) continue;
      // Books of a handler that has returned stay where it was; they are settled, and touch nothing there any more.
      const bool left = of->borrowed && !books::busy(__atomic_load_n(&each->generation, __ATOMIC_ACQUIRE));
      if (!left) note(__atomic_load_n(&of->current_index, __ATOMIC_ACQUIRE));
      note(__atomic_load_n(&of->crediting_index, __ATOMIC_ACQUIRE));
      note(__atomic_load_n(&of->folding_index, __ATOMIC_ACQUIRE));
      note(__atomic_load_n(&of->looking_index, __ATOMIC_ACQUIRE));
      if (__atomic_load_n(&of->holding, __ATOMIC_ACQUIRE)) note_moving(*of);
    }
  }

  bool have(const scope_record& record, scope_handle handle) const {
    if (__atomic_load_n(&record.holds, __ATOMIC_ACQUIRE) != 0 || record.seen_touched == looks ||
        moving_count_ > most_moving)
      return true;
    for (std::uint32_t i = 0; i < moving_count_; ++i)
      if (has_slot(*moving_[i], handle)) return true;
    return false;
  }

 private:
  static constexpr std::uint32_t most_moving = 64;  // beyond it, closed scopes wait for the next look
  static constinit std::uint32_t looks;

  static void note(std::uint32_t index) {
    if (scope_record* record = record_at(index); record != nullptr) record->seen_touched = looks;
  }
  void note_moving(const thread_scopes& of) {
    if (moving_count_ < most_moving) moving_[moving_count_] = &of;
    if (moving_count_ <= most_moving) ++moving_count_;
  }

  const thread_scopes* moving_[most_moving];
  std::uint32_t moving_count_ = 0;
};
constinit std::uint32_t hands::looks = 0;

bool looks_finished(scope_record& record, scope_handle handle, totals& did) {
  return first_child_of(record) == nullptr && sum_of_threads(record, handle, did) && did.allocations == did.frees &&
         did.live_bytes() == 0;
}

void recycle(scope_record& record, const totals& did) {
  totals all = did;
  all += record.below;
  unbind_accounts(record);
  leave_parent(record, all);
  __atomic_store_n(&record.life, life_of(record.life + one_generation, scope_state::unused), __ATOMIC_RELEASE);
  if (record.destroy == nullptr) return put_back(record);
  remains.put(record);
}

std::uint32_t usable_processors() {
  if (calls_may_be_refused) return 1;
  std::uint64_t set[16] = {};
  // Of the first thread: others may be bound to one each.
  const long bytes = sys::call(__NR_sched_getaffinity, sys::getpid(), sizeof set, sys::word(set));
  std::uint32_t count = 0;
  for (const std::uint64_t each : set) count += static_cast<std::uint32_t>(__builtin_popcountll(each));
  return bytes > 0 && count != 0 ? count : 1;
}

// What threads closed since the last look, and how many threads did.
std::uint32_t take_from_all() {
  std::uint32_t closers = 0;
  for (const books* each = all_books(); each != nullptr; each = each->next_made) {
    thread_scopes* of = __atomic_load_n(&each->scopes, __ATOMIC_ACQUIRE);
    if (of == nullptr || __atomic_load_n(&of->closed, __ATOMIC_RELAXED) == nullptr) continue;
    ++closers;
    scope_record* record = __atomic_exchange_n(&of->closed, nullptr, __ATOMIC_ACQUIRE);
    while (record != nullptr) {
      scope_record* const next = record->next;
      record->next = closed;
      closed = record;
      record = next;
    }
  }
  return closers;
}

// Each look interrupts all threads that run: so more pile up where several do. As many as stayed, so that what leaks is
// not looked through again and again, but not more than there is room for: nothing is closed when that is gone.
std::uint32_t when_to_look_again(std::uint32_t closers, std::uint32_t left) {
  constexpr std::uint32_t most_threads = 8;
  if (processors == 0) processors = usable_processors();
  std::uint32_t running = closers < processors ? closers : processors;
  if (running > most_threads) running = most_threads;
  const std::uint32_t few = running * fewest_to_look_through;
  const std::uint32_t half_of_room = left < record_limit ? (record_limit - left) / 2 : 0;
  const std::uint32_t many = left < half_of_room ? left : half_of_room;
  return many > few ? many : few;
}

void look_through_closed() {
  const std::uint32_t closers = take_from_all();
  // Two passes: what looks finished is marked, so that nobody begins anything with it; then every thread's stores
  // are made visible, and what still looks finished is.
  bool any = false;
  for (scope_record* each = closed; each != nullptr; each = each->next) {
    totals did;
    if (!looks_finished(*each, handle_of(*each, each->life), did)) continue;
    any = true;
    __atomic_store_n(&each->life, life_of(each->life, scope_state::retiring), __ATOMIC_SEQ_CST);
  }
  const bool certain = any && barrier_of_all_threads();
  const hands anyones;
  std::uint32_t left = 0;
  for (scope_record** at = &closed; *at != nullptr;) {
    scope_record& record = **at;
    totals did;
    const scope_handle handle = handle_of(record, record.life);
    if (state_of(record.life) == scope_state::retiring) {
      if (certain && !anyones.have(record, handle) && looks_finished(record, handle, did)) {
        *at = record.next;
        recycle(record, did);
        continue;
      }
      __atomic_store_n(&record.life, life_of(record.life, scope_state::closed), __ATOMIC_RELEASE);
    }
    at = &record.next;
    ++left;
  }
  __atomic_store_n(&found_no_room, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&closed_count.value, left, __ATOMIC_RELAXED);
  __atomic_store_n(&look_at, left + when_to_look_again(closers, left), __ATOMIC_RELAXED);
}

// Who has the lock looks through them, as likely as not: threads of which none waits reach their numbers at the same
// moment, time and again.
HL_COLD void look_unless_others_do(bool in_any_case) {
  if (!in_any_case && __atomic_load_n(&scopes_lock, __ATOMIC_RELAXED) != 0) return;
  const signals_blocked quiet;
  if (!try_lock_word(scopes_lock)) {
    if (!in_any_case) return;
    lock_word(scopes_lock);
  }
  if (__atomic_load_n(&closed_count.value, __ATOMIC_RELAXED) >= __atomic_load_n(&look_at, __ATOMIC_RELAXED))
    look_through_closed();
  unlock_word(scopes_lock);
}

}  // namespace

bool barrier_of_all_threads() {
  if (!barrier_known) {
    barrier_known = true;
    barrier_works = sys::call(__NR_membarrier, membarrier_register, 0) == 0;
  }
  return barrier_works && sys::call(__NR_membarrier, membarrier_expedited, 0) == 0;
}

void pile_up(books& own, scope_record& record) {
  thread_scopes* const mine = thread_scopes_of(own);
  if (mine == nullptr) {
    const lock_guard held(scopes_lock);
    record.next = closed;
    closed = &record;
    return;
  }
  scope_record* head = __atomic_load_n(&mine->closed, __ATOMIC_RELAXED);
  do {
    record.next = head;
  } while (!__atomic_compare_exchange_n(&mine->closed, &head, &record, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  // Counted together in small lots: else each close would wait for the count.
  const std::uint32_t enough = __atomic_load_n(&look_at, __ATOMIC_RELAXED);
  const std::uint32_t lot = enough < fewest_by_lots ? 1 : lot_of_closed;
  if (HL_LIKELY(++mine->closed_uncounted < lot)) return;
  const std::uint32_t count = __atomic_add_fetch(&closed_count.value, mine->closed_uncounted, __ATOMIC_RELAXED);
  mine->closed_uncounted = 0;
  if (HL_LIKELY(count < enough)) return;
  look_unless_others_do(count >= 2 * enough);
}

bool take_remains(scope_remains& out) {
  scope_record* const record = remains.empty() ? nullptr : remains.take();
  if (record == nullptr) return false;
  out = {record->destroy, record->user};
  put_back(*record);
  return true;
}

HL_COLD bool recycle_for_room() {
  constexpr std::uint32_t looked_at_for_each = 16;  // that finds no room: a look at a full table takes milliseconds
  const std::uint32_t tries = __atomic_add_fetch(&found_no_room, 1, __ATOMIC_RELAXED);
  if (tries < __atomic_load_n(&closed_count.value, __ATOMIC_RELAXED) / looked_at_for_each) return false;
  const signals_blocked quiet;
  if (!try_lock_word(scopes_lock)) return false;
  look_through_closed();
  unlock_word(scopes_lock);
  return true;
}

void reset_recycling() {
  closed = nullptr;
  remains.clear();
  closed_count = {};
  processors = 0;
  look_at = fewest_to_look_through;
  found_no_room = 0;
  barrier_known = barrier_works = false;
}

}  // namespace heapledger::probe

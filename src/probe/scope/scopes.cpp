// The table of scopes: how they begin, end, and are recycled.
#include "probe/account/registry.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/kinds.hpp"
#include "probe/scope/slots.hpp"
#include "probe/scope/usage.hpp"

namespace heapledger::probe {

constinit bool scopes_in_use = false;
constinit std::uint32_t scopes_lock = 0;
constinit std::uint32_t fewest_to_look_through = 64;

namespace {

constexpr unsigned chunk_bits = 10;
constexpr std::uint32_t chunk_records = 1u << chunk_bits;
constexpr std::uint32_t chunk_count = 256;
constexpr std::uint64_t one_generation = std::uint64_t{1} << 32;

constinit scope_record* chunks[chunk_count] = {};
constinit std::uint32_t record_count = 1;  // index 0 is the process
constinit scope_record* free_records = nullptr;
constinit scope_record* just_closed = nullptr;  // pushed without the lock
constinit scope_record* closed_records = nullptr;
constinit scope_record* remains = nullptr;  // recycled, but for what their makers want destroyed
constinit std::uint32_t closed_count = 0;   // of both
constinit std::uint32_t look_at = 64;
constinit std::uint64_t first_generation = one_generation;  // grows with every fork, so that old handles stay stale
constinit bool barrier_known = false, barrier_works = false;

constexpr int membarrier_register = 1 << 4, membarrier_expedited = 1 << 3;

std::uint64_t life_of(std::uint64_t generation, scope_state state) {
  return (generation & ~(one_generation - 1)) | static_cast<std::uint64_t>(state);
}

scope_record* take_record() {
  if (scope_record* record = free_records; record != nullptr) {
    free_records = record->next;
    return record;
  }
  if (record_count >= chunk_count * chunk_records) return nullptr;
  scope_record*& chunk = chunks[record_count >> chunk_bits];
  if (chunk == nullptr) {
    void* memory = own_map(chunk_records * sizeof(scope_record));
    if (memory == nullptr) return nullptr;
    __atomic_store_n(&chunk, static_cast<scope_record*>(memory), __ATOMIC_RELEASE);
  }
  const std::uint32_t index = record_count;
  scope_record& record = chunk[index & (chunk_records - 1)];
  record.index = index;
  record.life = life_of(first_generation, scope_state::unused);
  __atomic_store_n(&record_count, index + 1, __ATOMIC_RELEASE);
  return &record;
}

void put_back(scope_record& record) {
  record.next = free_records;
  free_records = &record;
}

void begin(scope_record& record, scope_record* parent, const scope_budget& budget) {
  record.parent = parent;
  record.limited = record.fail = false;
  for (std::size_t r = 0; r < wire::resource_count; ++r) {
    record.limit[r] = budget.limit[r];
    record.limited = record.limited || budget.limit[r] != no_limit;
    record.committed[r] = 0;
  }
  record.reserve_bytes = 0;
  if (budget.limit[live] != no_limit) {
    record.reserve_bytes = budget.reserve_bytes < budget.limit[live] ? budget.reserve_bytes : budget.limit[live];
    record.limit[live] -= record.reserve_bytes;
  }
  record.fail = budget.fail;
  record.gated = record.limited || (parent != nullptr && parent->gated);
  record.revoking = 0;
  record.peak_bytes = 0;
  record.contributors = record.armed = record.threshold_count = record.holds = record.workers_met = 0;
  for (const books*& worker : record.workers) worker = nullptr;
  for (std::uint32_t& first : record.bound_by) first = 0;
  record.folded = record.below = {};
  record.first_child = record.previous_sibling = nullptr;
  record.user = nullptr;
  record.user_kind = 0;
  record.notify = nullptr;
  record.destroy = nullptr;
  record.next_sibling = parent != nullptr ? parent->first_child : nullptr;
  if (record.next_sibling != nullptr) record.next_sibling->previous_sibling = &record;
  if (parent != nullptr) parent->first_child = &record;
}

void leave_parent(scope_record& record) {
  if (record.parent == nullptr) return;
  if (record.previous_sibling != nullptr)
    record.previous_sibling->next_sibling = record.next_sibling;
  else
    record.parent->first_child = record.next_sibling;
  if (record.next_sibling != nullptr) record.next_sibling->previous_sibling = record.previous_sibling;
}

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
      if (__atomic_load_n(&of->holding, __ATOMIC_ACQUIRE)) note_moving(*of);
    }
  }

  bool have(const scope_record& record, scope_handle handle) const {
    if (record.holds != 0 || record.seen_touched == looks || moving_count_ > most_moving) return true;
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

bool looks_finished(const scope_record& record, scope_handle handle, totals& did) {
  return record.first_child == nullptr && sum_of_threads(record, handle, did) && did.allocations == did.frees &&
         did.live_bytes() == 0;
}

void recycle(scope_record& record, const totals& did) {
  totals all = did;
  all += record.below;
  if (record.parent != nullptr) record.parent->below += all;
  unbind_accounts(record);
  leave_parent(record);
  __atomic_store_n(&record.life, life_of(record.life + one_generation, scope_state::unused), __ATOMIC_RELEASE);
  if (record.destroy == nullptr) return put_back(record);
  record.next = remains;
  remains = &record;
}

void take_just_closed() {
  scope_record* record = __atomic_exchange_n(&just_closed, nullptr, __ATOMIC_ACQUIRE);
  while (record != nullptr) {
    scope_record* const next = record->next;
    record->next = closed_records;
    closed_records = record;
    record = next;
  }
}

void look_through_closed() {
  take_just_closed();
  // Two passes: what looks finished is marked, so that nobody begins anything with it; then every thread's stores
  // are made visible, and what still looks finished is.
  bool any = false;
  for (scope_record* each = closed_records; each != nullptr; each = each->next) {
    totals did;
    if (!looks_finished(*each, handle_of(*each, each->life), did)) continue;
    any = true;
    __atomic_store_n(&each->life, life_of(each->life, scope_state::retiring), __ATOMIC_SEQ_CST);
  }
  const bool certain = any && barrier_of_all_threads();
  const hands anyones;
  for (scope_record** at = &closed_records; *at != nullptr;) {
    scope_record& record = **at;
    totals did;
    const scope_handle handle = handle_of(record, record.life);
    if (state_of(record.life) == scope_state::retiring) {
      if (certain && !anyones.have(record, handle) && looks_finished(record, handle, did)) {
        *at = record.next;
        __atomic_fetch_sub(&closed_count, 1, __ATOMIC_RELAXED);
        recycle(record, did);
        continue;
      }
      __atomic_store_n(&record.life, life_of(record.life, scope_state::closed), __ATOMIC_RELEASE);
    }
    at = &record.next;
  }
  const std::uint32_t left = __atomic_load_n(&closed_count, __ATOMIC_RELAXED);
  __atomic_store_n(&look_at, left + (left > fewest_to_look_through ? left : fewest_to_look_through), __ATOMIC_RELAXED);
}

}  // namespace

bool barrier_of_all_threads() {
  if (!barrier_known) {
    barrier_known = true;
    barrier_works = sys::call(__NR_membarrier, membarrier_register, 0) == 0;
  }
  return barrier_works && sys::call(__NR_membarrier, membarrier_expedited, 0) == 0;
}

scope_record* record_at(std::uint32_t index) {
  if (index == 0 || index >= __atomic_load_n(&record_count, __ATOMIC_ACQUIRE)) return nullptr;
  return &chunks[index >> chunk_bits][index & (chunk_records - 1)];
}

std::uint64_t settled_life(const scope_record& record) {
  std::uint64_t life = load_life(record);
  while (HL_UNLIKELY(state_of(life) == scope_state::retiring)) {
    lock_guard wait(scopes_lock);
    life = load_life(record);
  }
  return life;
}

scope_handle nearest_open(scope_handle handle) {
  while (handle != 0) {
    const scope_record* record = record_at(index_of(handle));
    if (record == nullptr) return 0;
    const std::uint64_t life = settled_life(*record);
    if (!names(handle, life)) return 0;
    if (state_of(life) == scope_state::open) return handle;
    const scope_record* parent = record->parent;
    const scope_handle up = parent == nullptr ? 0 : handle_of(*parent, load_life(*parent));
    // Was it recycled meanwhile, its parent was somebody else's.
    if (!names(handle, load_life(*record))) return 0;
    handle = up;
  }
  return 0;
}

scope_handle open_scope(const char* name, std::size_t name_bytes, scope_handle parent, const scope_budget& budget) {
  const scope_handle below = nearest_open(parent);
  lock_guard held(scopes_lock);
  scope_record* above = record_at(index_of(below));
  if (above != nullptr && load_life(*above) != life_of(below, scope_state::open)) above = nullptr;
  scope_record* record = take_record();
  if (record == nullptr) {
    count_loss(wire::loss::scopes_full);
    return 0;
  }
  record->kind = kind_of(above == nullptr ? 0 : above->kind, name, name_bytes);
  if (bind_base_account(*record) == 0) {
    put_back(*record);
    count_loss(wire::loss::scopes_full);
    return 0;
  }
  begin(*record, above, budget);
  note_opened(record->kind, budget);
  __atomic_store_n(&record->life, life_of(record->life, scope_state::open), __ATOMIC_RELEASE);
  if (HL_UNLIKELY(!scopes_in_use)) {
    __atomic_store_n(&sole_writer, no_sole_writer, __ATOMIC_RELEASE);
    __atomic_store_n(&scopes_in_use, true, __ATOMIC_RELEASE);
  }
  return handle_of(*record, record->life);
}

void close_scope(scope_handle handle) {
  scope_record* record = record_at(index_of(handle));
  if (record == nullptr) return;
  std::uint64_t open = life_of(handle, scope_state::open);
  if (!__atomic_compare_exchange_n(&record->life, &open, life_of(handle, scope_state::closed), false, __ATOMIC_ACQ_REL,
                                   __ATOMIC_RELAXED))
    return;
  // Until it is pushed it is this thread's: nobody else looks whether it has finished.
  note_closed(record->kind);
  const std::uint32_t closed = __atomic_add_fetch(&closed_count, 1, __ATOMIC_RELAXED);  // never fewer than there are
  scope_record* head = __atomic_load_n(&just_closed, __ATOMIC_RELAXED);
  do {
    record->next = head;
  } while (!__atomic_compare_exchange_n(&just_closed, &head, record, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED));
  if (HL_LIKELY(closed < __atomic_load_n(&look_at, __ATOMIC_RELAXED))) return;
  const lock_guard held(scopes_lock);
  if (__atomic_load_n(&closed_count, __ATOMIC_RELAXED) >= __atomic_load_n(&look_at, __ATOMIC_RELAXED))
    look_through_closed();
}

bool hold_scope(scope_handle handle) {
  lock_guard held(scopes_lock);
  scope_record* record = record_at(index_of(handle));
  if (record == nullptr || !names(handle, load_life(*record))) return false;
  ++record->holds;
  return true;
}

void release_scope(scope_handle handle) {
  lock_guard held(scopes_lock);
  // A child process has other records.
  scope_record* record = record_at(index_of(handle));
  if (record != nullptr && names(handle, load_life(*record)) && record->holds != 0) --record->holds;
}

bool take_remains(scope_remains& out) {
  if (__atomic_load_n(&remains, __ATOMIC_RELAXED) == nullptr) return false;
  lock_guard held(scopes_lock);
  scope_record* record = remains;
  if (record == nullptr) return false;
  remains = record->next;
  out = {record->destroy, record->user};
  put_back(*record);
  return true;
}

void reset_scopes(bool unmap) {
  scopes_lock = 0;
  scopes_in_use = false;
  std::uint64_t newest = first_generation;
  for (std::uint32_t i = 1; i < record_count; ++i)
    if (const std::uint64_t life = record_at(i)->life; life > newest) newest = life;
  first_generation = life_of(newest + one_generation, scope_state::unused);
  for (scope_record*& chunk : chunks) {
    if (unmap && chunk != nullptr) own_unmap(chunk, chunk_records * sizeof(scope_record));
    chunk = nullptr;
  }
  record_count = 1;
  free_records = just_closed = closed_records = remains = nullptr;
  closed_count = 0;
  look_at = fewest_to_look_through;
  barrier_known = barrier_works = false;
  reset_bindings(unmap);
  reset_freers(unmap);
  reset_kinds();
}

}  // namespace heapledger::probe

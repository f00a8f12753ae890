#include "probe/scope/records.hpp"

#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/scope/kinds.hpp"

namespace heapledger::probe {
namespace {

constexpr unsigned chunk_bits = 10;
constexpr std::uint32_t chunk_records = 1u << chunk_bits;
constexpr std::uint32_t chunk_count = record_limit / chunk_records;

constinit scope_record* chunks[chunk_count] = {};
constinit std::uint32_t record_count = 1;                   // index 0 is the process
constinit std::uint64_t first_generation = one_generation;  // grows with every fork, so that old handles stay stale

constinit record_list free_records[kind_limit] = {};
constinit std::uint32_t last_robbed = 0;
constexpr std::uint64_t one_taken = std::uint64_t{1} << 32;

scope_record* chunk_of(std::uint32_t index) {
  return __atomic_load_n(&chunks[index >> chunk_bits], __ATOMIC_ACQUIRE);
}
std::uint64_t without_index(std::uint64_t list) {
  return list & ~(one_generation - 1);
}

// One that never was a scope, if there is memory for it.
scope_record* take_unused() {
  std::uint32_t index = __atomic_load_n(&record_count, __ATOMIC_ACQUIRE);
  scope_record* chunk = nullptr;
  do {
    if (index >= record_limit || (chunk = chunk_of(index)) == nullptr) return nullptr;
  } while (!__atomic_compare_exchange_n(&record_count, &index, index + 1, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
  scope_record& record = chunk[index & (chunk_records - 1)];
  record.index = index;
  __atomic_store_n(&record.life, life_of(first_generation, scope_state::unused), __ATOMIC_RELAXED);
  return &record;
}

// With the lock held.
bool map_another_chunk() {
  const std::uint32_t index = __atomic_load_n(&record_count, __ATOMIC_RELAXED);
  if (index >= record_limit) return false;
  if (chunk_of(index) != nullptr) return true;
  void* const memory = own_map(chunk_records * sizeof(scope_record));
  if (memory == nullptr) return false;
  __atomic_store_n(&chunks[index >> chunk_bits], static_cast<scope_record*>(memory), __ATOMIC_RELEASE);
  return true;
}

scope_record* take_from_another_kind() {
  for (std::uint32_t i = 0; i < kind_limit; ++i) {
    last_robbed = (last_robbed + 1) % kind_limit;
    if (scope_record* record = free_records[last_robbed].take(); record != nullptr) return record;
  }
  return nullptr;
}

HL_COLD scope_record* make_room(std::uint32_t kind) {
  const lock_guard held(scopes_lock);
  // Who had the lock may have recycled some.
  if (scope_record* record = free_records[kind].take(); record != nullptr) return record;
  if (scope_record* record = take_unused(); record != nullptr) return record;
  if (scope_record* record = take_from_another_kind(); record != nullptr) return record;
  while (map_another_chunk())
    if (scope_record* record = take_unused(); record != nullptr) return record;
  return nullptr;
}

}  // namespace

scope_record* record_list::take() {
  std::uint64_t first = __atomic_load_n(&first_, __ATOMIC_ACQUIRE);
  for (;;) {
    scope_record* const record = record_at(static_cast<std::uint32_t>(first));
    if (record == nullptr) return nullptr;
    const std::uint64_t rest =
        without_index(first) + one_taken + __atomic_load_n(&record->next_listed, __ATOMIC_RELAXED);
    if (__atomic_compare_exchange_n(&first_, &first, rest, true, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) return record;
  }
}

void record_list::put(scope_record& record) {
  std::uint64_t first = __atomic_load_n(&first_, __ATOMIC_RELAXED);
  do {
    __atomic_store_n(&record.next_listed, static_cast<std::uint32_t>(first), __ATOMIC_RELAXED);
  } while (!__atomic_compare_exchange_n(&first_, &first, without_index(first) + record.index, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED));
}

void record_list::clear() {
  first_ = without_index(first_) + one_taken;
}

scope_record* record_at(std::uint32_t index) {
  if (index == 0 || index >= __atomic_load_n(&record_count, __ATOMIC_ACQUIRE)) return nullptr;
  scope_record* const chunk = chunks[index >> chunk_bits];
  // None: a handler that interrupted this event has forked.
  return HL_UNLIKELY(chunk == nullptr) ? nullptr : &chunk[index & (chunk_records - 1)];
}

scope_record* take_record(std::uint32_t kind) {
  if (scope_record* record = free_records[kind].take(); HL_LIKELY(record != nullptr)) return record;
  if (scope_record* record = take_unused(); record != nullptr) return record;
  return make_room(kind);
}

void put_back(scope_record& record) {
  free_records[record.kind].put(record);
}

void reset_records(bool unmap) {
  std::uint64_t newest = first_generation;
  for (std::uint32_t i = 1; i < record_count; ++i)
    if (const std::uint64_t life = record_at(i)->life; life > newest) newest = life;
  first_generation = life_of(newest + one_generation, scope_state::unused);
  for (scope_record*& chunk : chunks) {
    if (chunk == nullptr) break;  // mapped in turn
    if (unmap) own_unmap(chunk, chunk_records * sizeof(scope_record));
    chunk = nullptr;
  }
  // Where no scope ever was, their pages are not touched: a forked child would have to copy them.
  if (record_count > 1)
    for (record_list& list : free_records) list.clear();
  record_count = 1;
}

}  // namespace heapledger::probe

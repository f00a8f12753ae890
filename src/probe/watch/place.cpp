// Which blocks get a slot, and what is written down about them.
#include <sys/mman.h>

#include "probe/base/lock.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/watch/control.hpp"
#include "probe/watch/watch.hpp"

namespace heapledger::probe {
namespace {

using wire::watch_slot_state;

constexpr std::uint64_t page = 4096;
constexpr int advice_populate_write = 23;  // MADV_POPULATE_WRITE, Linux 5.14

// xorshift64*, seeded by a time stamp and the address of the books.
std::uint32_t draw(books& own) {
  std::uint64_t x = own.watch_random;
  if (x == 0) x = (__builtin_ia32_rdtsc() ^ sys::word(&own) << 20) * 0x9e3779b97f4a7c15u | 1;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  own.watch_random = x;
  return static_cast<std::uint32_t>(x * 0x2545f4914f6cdd1du >> 32);
}

std::uint32_t mark_of(std::uint32_t account) {
  const std::uint32_t site = account & ~wire::watch_pool_site;
  if (site != account) return __atomic_load_n(&segment.pool_sites[site].mark, __ATOMIC_RELAXED);
  return account < watching.mark_count ? __atomic_load_n(&segment.watch_marks[account], __ATOMIC_RELAXED) : 0;
}

wire::watch_suspect* suspect_of(std::uint32_t account, std::uint32_t& index) {
  index = mark_of(account) - 1;
  if (index >= watch_in_force.suspect_count) return nullptr;
  wire::watch_suspect& found = segment.watch_suspects[index];
  return found.account == account ? &found : nullptr;
}

bool within_limits(const wire::watch_suspect& suspect, const watch_offer& offer, std::uint64_t now_ns) {
  const wire::watch_answer& answer = segment.header->watch;
  return watch_in_force.on && now_ns < watch_in_force.lease_ns && suspect.live < suspect.most &&
         answer.live_blocks < watch_in_force.most_blocks && offer.bytes <= watch_in_force.most_each_bytes &&
         answer.live_bytes <= watch_in_force.most_bytes && offer.bytes <= watch_in_force.most_bytes - answer.live_bytes;
}

std::uint64_t room_before(const watch_offer& offer) {
  return offer.alignment < sizeof(slot_header) ? sizeof(slot_header) : offer.alignment;
}

struct room {
  std::uint32_t slot = no_slot;
  std::uint32_t length = 0;
};

room find_room(const watch_offer& offer) {
  wire::watch_answer& answer = segment.header->watch;
  const std::uint64_t bytes = room_before(offer) + offer.usable + sizeof(std::uint64_t);
  watch_trouble trouble{};
  room found;
  found.slot = take_run((bytes + wire::watch_slot_bytes - 1) / wire::watch_slot_bytes, trouble);
  if (trouble.obstacle != wire::watch_obstacle::none) {
    answer.obstacle = trouble.obstacle;
    answer.error = trouble.error;
  }
  if (found.slot == no_slot) return found;
  found.length = run_length(found.slot);
  const std::uint32_t end = found.slot + found.length;
  // The first pages are needed anyway; where there is no memory for them, this says so and a store would not.
  char* const first = address_of(found.slot) + (room_before(offer) - 1) / page * page;
  const std::uint64_t needed = bytes - (room_before(offer) - 1) / page * page;
  const long populated =
      sys::madvise(first, needed < 4 * page ? (needed + page - 1) & ~(page - 1) : 4 * page, advice_populate_write);
  if (end > answer.slot_limit || !commit(segment.watch_slots, end) || (populated != 0 && populated != -22)) {
    give_run(found.slot);
    found.slot = no_slot;
  } else if (end > answer.slot_count) {
    __atomic_store_n(&answer.slot_count, end, __ATOMIC_RELEASE);
  }
  return found;
}

void* record(const room& in, const watch_offer& offer, std::uint32_t suspect, std::uint64_t now_ns) {
  char* const block = address_of(in.slot) + room_before(offer);
  reinterpret_cast<slot_header*>(block)[-1] = {offer.usable, slot_chunk};
  wire::watch_slot& slot = segment.watch_slots[in.slot];
  __atomic_store_n(&slot.serial, slot.serial + 1, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.state, watch_slot_state::unused, __ATOMIC_RELEASE);
  slot.account = offer.account;
  slot.suspect = suspect;
  slot.address = sys::word(block);
  slot.bytes = offer.bytes;
  slot.born_ns = now_ns;
  slot.ended_ns = 0;
  slot.armed_ns = 0;
  slot.chance = __atomic_load_n(&segment.watch_suspects[suspect].inclusion, __ATOMIC_RELAXED);
  slot.tid = static_cast<std::uint32_t>(sys::gettid());
  for (std::uint32_t i = 1; i < in.length; ++i) segment.watch_slots[in.slot + i].state = watch_slot_state::rest;
  __atomic_store_n(&slot.state, watch_slot_state::live, __ATOMIC_RELEASE);
  return block;
}

unsigned age_bucket(std::uint64_t age_ns) {
  const std::uint64_t ms = age_ns / 1'000'000;
  const unsigned bucket = ms == 0 ? 0 : 64 - static_cast<unsigned>(__builtin_clzl(ms));
  return bucket < wire::watch_age_buckets ? bucket : wire::watch_age_buckets - 1;
}

// After a fork the child's segment knows nothing of what it inherited.
bool known_here(const wire::watch_slot& slot, const void* block) {
  return slot.address == sys::word(block) &&
         (slot.state == watch_slot_state::live || slot.state == watch_slot_state::apart);
}

void count_end(wire::watch_slot& slot) {
  wire::watch_answer& answer = segment.header->watch;
  const std::uint64_t now_ns = sys::clock_ns(sys::clock_monotonic);
  const bool apart = slot.state == watch_slot_state::apart;
  if (slot.suspect < segment.watch_suspects.capacity) {
    wire::watch_suspect& suspect = segment.watch_suspects[slot.suspect];
    if (!apart) {
      --suspect.live;
      ++suspect.freed;
      suspect.freed_bytes += slot.bytes;
      ++suspect.freed_ages[age_bucket(now_ns - slot.born_ns)];
    }
  }
  ++answer.freed;
  if (apart) {
    --answer.apart_blocks;
  } else {
    --answer.live_blocks;
    answer.live_bytes -= slot.bytes;
    slot.ended_ns = now_ns;
  }
  __atomic_store_n(&slot.state, watch_slot_state::freed, __ATOMIC_RELEASE);
}

}  // namespace

bool is_chosen(books& own, std::uint32_t account) {
  look_at_watch();
  std::uint32_t index = 0;
  const wire::watch_suspect* const suspect = suspect_of(account, index);
  return suspect != nullptr && draw(own) <= __atomic_load_n(&suspect->chance, __ATOMIC_RELAXED);
}

void* place(const watch_offer& offer) {
  if (watch_held_by_fork) return nullptr;
  lock_guard held(watch_lock);
  std::uint32_t index = 0;
  wire::watch_suspect* const suspect = suspect_of(offer.account, index);
  if (suspect == nullptr) return nullptr;  // acquitted meanwhile
  ++suspect->chosen;
  wire::watch_answer& answer = segment.header->watch;
  const std::uint64_t now_ns = sys::clock_ns(sys::clock_monotonic);
  if (watch_in_force.on && now_ns >= watch_in_force.lease_ns) stop_watch();
  if (!within_limits(*suspect, offer, now_ns)) {
    ++answer.refused_most;
    return nullptr;
  }
  const room found = offer.alignment < wire::watch_slot_bytes ? find_room(offer) : room{};
  if (found.slot == no_slot) {
    ++answer.refused_room;
    return nullptr;
  }
  ++suspect->placed;
  suspect->placed_bytes += offer.bytes;
  ++suspect->live;
  ++answer.placed;
  ++answer.live_blocks;
  answer.live_bytes += offer.bytes;
  return record(found, offer, index, now_ns);
}

void* place_chunk(books& own, std::uint32_t site, void* chunk, const watch_offer& offer) {
  const std::uint32_t account = site | wire::watch_pool_site;
  if (!is_chosen(own, account)) return nullptr;
  void* const placed = place({account, offer.bytes, offer.usable, offer.alignment});
  if (placed != nullptr) static_cast<slot_header*>(placed)[-1] = {sys::word(chunk), pool_slot_chunk};
  return placed;
}

void* chunk_of_placed(const void* placed) {
  if (!is_watched(placed) || !begins_run(slot_of(placed))) return nullptr;
  if ((sys::word(placed) - window.base) % wire::watch_slot_bytes < sizeof(slot_header)) return nullptr;
  const slot_header& header = static_cast<const slot_header*>(placed)[-1];
  return header.chunk == pool_slot_chunk ? reinterpret_cast<void*>(header.usable) : nullptr;
}

namespace {
void empty_slot(void* block) {
  const std::uint32_t index = slot_of(block);
  if (segment.header != nullptr && index < segment.header->watch.slot_count &&
      known_here(segment.watch_slots[index], block))
    count_end(segment.watch_slots[index]);
  give_run(index);
}
}  // namespace

void leave_slot(void* block) {
  if (HL_UNLIKELY(watch_held_by_fork)) return empty_slot(block);
  lock_guard held(watch_lock);
  empty_slot(block);
}

std::uint32_t account_in_slot(const void* block) {
  const std::uint32_t index = slot_of(block);
  if (segment.header == nullptr || index >= segment.header->watch.slot_count) return 0;
  const std::uint32_t account = segment.watch_slots[index].account;
  return account < __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE) ? account : 0;
}

}  // namespace heapledger::probe

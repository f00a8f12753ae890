#include "probe/scope/freers.hpp"

#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {
namespace {

constinit std::uint32_t freers_lock = 0;
constinit std::uint32_t* buckets = nullptr;  // element + 1; 0: free

constexpr std::uint32_t bucket_count = 1u << 14;  // twice the capacity
constexpr std::uint32_t rest = 0;                 // pairs that found no room, of all threads together

std::uint32_t hash(std::uint32_t owner, std::uint32_t by, std::uint32_t writer) {
  const std::uint64_t key = (std::uint64_t{owner} << 32 | by) * 0x9e3779b97f4a7c15u + writer;
  return static_cast<std::uint32_t>((key ^ key >> 29) * 0xd6e8feb86659fd93u >> 40);
}

HL_COLD std::uint32_t find_or_add(std::uint32_t owner, std::uint32_t by, std::uint32_t writer) {
  const lock_guard held(freers_lock);
  if (buckets == nullptr) {
    buckets = static_cast<std::uint32_t*>(own_map(bucket_count * sizeof(std::uint32_t)));
    if (buckets == nullptr) return rest;
  }
  std::uint32_t at = hash(owner, by, writer) % bucket_count;
  for (; buckets[at] != 0; at = (at + 1) % bucket_count) {
    const wire::freer& known = segment.freers[buckets[at] - 1];
    if (known.owner == owner && known.by == by && known.writer == writer) return buckets[at] - 1;
  }
  wire::segment_header& header = *segment.header;
  const std::uint32_t fresh = header.freer_count;
  if (fresh >= bucket_count / 2 || !commit(segment.freers, fresh + 1)) return rest;
  wire::freer& of = segment.freers[fresh];
  of.owner = owner;
  of.by = by;
  of.writer = writer;
  __atomic_store_n(&header.freer_count, fresh + 1, __ATOMIC_RELEASE);
  buckets[at] = fresh + 1;
  return fresh;
}

}  // namespace

void note_freer(books& own, std::uint32_t owner_kind, bool late, std::size_t bytes, int sign) {
  thread_scopes& mine = *own.scopes;
  const std::uint32_t by = mine.current != nullptr ? mine.current->of->kind : 0;
  known_freer& known = mine.freers[(owner_kind * 31 + by) % thread_scopes::freer_count];
  if (HL_UNLIKELY(known.element == 0 || known.owner != owner_kind || known.by != by))
    known = {owner_kind, by, find_or_add(owner_kind, by, own.writer_id) + 1};
  const auto count = static_cast<std::uint64_t>(sign);
  wire::freer& of = segment.freers[known.element - 1];
  if (HL_UNLIKELY(known.element - 1 == rest)) {
    if (sign > 0) count_loss(wire::loss::freers_full);
    __atomic_fetch_add(&of.frees, count, __ATOMIC_RELAXED);
    __atomic_fetch_add(&of.freed_bytes, count * bytes, __ATOMIC_RELAXED);
    return;
  }
  of.frees += count;
  of.freed_bytes += count * bytes;
  if (!late) return;
  of.late_frees += count;
  of.late_bytes += count * bytes;
}

void reset_freers(bool unmap) {
  freers_lock = 0;
  if (unmap && buckets != nullptr) own_unmap(buckets, bucket_count * sizeof(std::uint32_t));
  buckets = nullptr;
}

}  // namespace heapledger::probe

#include "probe/scope/kinds.hpp"

#include "probe/base/lock.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

constexpr std::uint32_t slot_count = 2 * kind_limit;
constexpr std::size_t longest_name_bytes = 255;
constinit std::uint16_t slots[slot_count] = {};  // kind; 0: free, and the end of a search

std::uint32_t hash(std::uint32_t parent, const char* name, std::size_t bytes) {
  std::uint64_t value = parent + 0x9e3779b97f4a7c15u;
  for (std::size_t i = 0; i < bytes; ++i) value = (value ^ static_cast<unsigned char>(name[i])) * 0x100000001b3u;
  return static_cast<std::uint32_t>((value ^ value >> 32) * 0xd6e8feb86659fd93u >> 40);
}

bool is(const wire::scope& kind, std::uint32_t parent, const char* name, std::size_t bytes) {
  if (kind.parent != parent) return false;
  const char* has = &segment.strings[kind.name];
  for (std::size_t i = 0; i < bytes; ++i)
    if (has[i] != name[i]) return false;
  return has[bytes] == 0;
}

// 0: none is; then `at` is the slot for it.
std::uint32_t find(std::uint32_t& at, std::uint32_t parent, const char* name, std::size_t bytes) {
  for (;; at = (at + 1) % slot_count) {
    const std::uint32_t kind = __atomic_load_n(&slots[at], __ATOMIC_ACQUIRE);
    if (kind == 0 || is(segment.scopes[kind], parent, name, bytes)) return kind;
  }
}

HL_COLD std::uint32_t add(std::uint32_t at, std::uint32_t parent, const char* name, std::size_t bytes) {
  const lock_guard held(scopes_lock);
  if (const std::uint32_t known = find(at, parent, name, bytes); known != 0) return known;
  wire::segment_header& header = *segment.header;
  const std::uint32_t fresh = header.scope_count;
  if (fresh >= kind_limit || !commit(segment.scopes, fresh + 1)) {
    count_loss(wire::loss::scopes_full);
    return parent;
  }
  const std::uint32_t text = publish_string(name, bytes);
  wire::scope& kind = segment.scopes[fresh];
  kind = {};
  kind.name = text;
  kind.parent = parent;
  __atomic_store_n(&header.scope_count, fresh + 1, __ATOMIC_RELEASE);
  __atomic_store_n(&slots[at], static_cast<std::uint16_t>(fresh), __ATOMIC_RELEASE);
  return fresh;
}

}  // namespace

std::uint32_t kind_of(std::uint32_t parent, const char* name, std::size_t bytes) {
  if (bytes > longest_name_bytes) bytes = longest_name_bytes;
  if (const void* end = __builtin_memchr(name, 0, bytes); end != nullptr)
    bytes = static_cast<std::size_t>(static_cast<const char*>(end) - name);
  std::uint32_t at = hash(parent, name, bytes) % slot_count;
  const std::uint32_t known = find(at, parent, name, bytes);
  return HL_LIKELY(known != 0) ? known : add(at, parent, name, bytes);
}

void note_opened(std::uint32_t kind, const scope_budget& budget) {
  wire::scope& of = segment.scopes[kind];
  __atomic_fetch_add(&of.opened, 1, __ATOMIC_RELAXED);
  for (std::size_t r = 0; r < wire::resource_count; ++r) {
    const std::int64_t limit = budget.limit[r] == no_limit ? -1 : budget.limit[r];
    __atomic_store_n(&of.limit[r], limit, __ATOMIC_RELAXED);
  }
}

void note_closed(std::uint32_t kind) {
  __atomic_fetch_add(&segment.scopes[kind].closed, 1, __ATOMIC_RELAXED);
}

void reset_kinds() {
  for (std::uint16_t& slot : slots) slot = 0;
}

void note_peak_of_kind(std::uint32_t kind, std::int64_t bytes) {
  std::int64_t& peak = segment.scopes[kind].peak_bytes;
  std::int64_t known = __atomic_load_n(&peak, __ATOMIC_RELAXED);
  while (bytes > known)
    if (__atomic_compare_exchange_n(&peak, &known, bytes, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) return;
}

void note_refusal(std::uint32_t kind) {
  __atomic_fetch_add(&segment.scopes[kind].refusals, 1, __ATOMIC_RELAXED);
}

void note_overdraft(std::uint32_t kind) {
  __atomic_fetch_add(&segment.scopes[kind].overdrafts, 1, __ATOMIC_RELAXED);
}

}  // namespace heapledger::probe

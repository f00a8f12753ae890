#include "probe/scope/bindings.hpp"

#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

constinit scope_binding* binding_chunks[tag::account_limit >> binding_chunk_bits] = {};
constinit scope_binding no_binding = {};

namespace {

constexpr unsigned first_bucket_bits = 10;

constinit std::uint32_t chunks_lock = 0;
constinit std::size_t chunks_end = 0;  // beyond it none was made; most processes have none

HL_COLD bool make_chunk(scope_binding*& chunk) {
  const lock_guard held(chunks_lock);
  if (chunk != nullptr) return true;
  void* memory = own_map(binding_chunk_accounts * sizeof(scope_binding));
  if (memory == nullptr) return false;
  const std::size_t end = static_cast<std::size_t>(&chunk - binding_chunks) + 1;
  if (chunks_end < end) chunks_end = end;
  __atomic_store_n(&chunk, static_cast<scope_binding*>(memory), __ATOMIC_RELEASE);
  return true;
}

}  // namespace

bool make_binding(std::uint32_t account) {
  scope_binding*& chunk = binding_chunks[account >> binding_chunk_bits];
  if (HL_UNLIKELY(__atomic_load_n(&chunk, __ATOMIC_ACQUIRE) == nullptr) && !make_chunk(chunk)) return false;
  const wire::account_key& key = segment.account_keys[account];
  binding_of(account) = {key.path, key.scope, 0, 0, 0, 0, 0};
  return true;
}

void reset_binding_chunks(bool unmap) {
  chunks_lock = 0;
  for (std::size_t i = 0; i < chunks_end; ++i) {
    scope_binding*& chunk = binding_chunks[i];
    if (unmap && chunk != nullptr) own_unmap(chunk, binding_chunk_accounts * sizeof(scope_binding));
    chunk = nullptr;
  }
  chunks_end = 0;
}

void binding_table::put(std::uint32_t account) {
  scope_binding& of = binding_of(account);
  std::uint32_t& home = home_of(of);
  of.next = home;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);  // a handler may leave for good in between
  home = account + 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void binding_table::take_out(std::uint32_t account) {
  const scope_binding& of = binding_of(account);
  std::uint32_t* at = &home_of(of);
  while (*at != 0 && *at != account + 1) {
    scope_binding* const other = known_binding(*at - 1);
    if (HL_UNLIKELY(other == nullptr)) return;
    at = &other->next;
  }
  if (*at != 0) *at = of.next;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

bool binding_table::grow() {
  const unsigned bits = buckets_ == nullptr ? first_bucket_bits : bits_ + 1;
  auto* larger = static_cast<std::uint32_t*>(own_map(sizeof(std::uint32_t) << bits));
  if (larger == nullptr) return buckets_ != nullptr;
  std::uint32_t* old = buckets_;
  const std::uint32_t old_count = old == nullptr ? 0 : 1u << bits_;
  buckets_ = larger;
  bits_ = bits;
  for (std::uint32_t i = 0; i < old_count; ++i)
    for (std::uint32_t at = old[i]; at != 0;) {
      const std::uint32_t account = at - 1;
      const scope_binding* const of = known_binding(account);
      if (HL_UNLIKELY(of == nullptr)) break;
      at = of->next;
      put(account);
    }
  if (old != nullptr) own_unmap(old, sizeof(std::uint32_t) * old_count);
  return true;
}

std::uint32_t binding_table::some_free(std::uint32_t& hand) const {
  if (buckets_ == nullptr) return 0;
  constexpr std::uint32_t patience = 8;
  for (std::uint32_t looked = 0; looked < patience; ++looked) {
    std::uint32_t at = buckets_[hand++ & ((1u << bits_) - 1)];
    while (at != 0) {
      const scope_binding* const of = known_binding(at - 1);
      if (HL_UNLIKELY(of == nullptr)) return 0;
      if (of->scope == 0) return at;
      at = of->next;
    }
  }
  return 0;
}

void binding_table::reset(bool unmap) {
  if (unmap && buckets_ != nullptr) own_unmap(buckets_, sizeof(std::uint32_t) << bits_);
  *this = {};
}

}  // namespace heapledger::probe

// Which scope an account is bound to, and tables of accounts by what they are bound to.
#pragma once

#include "probe/account/tag.hpp"
#include "probe/base/attributes.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

// What an account is bound to, and the lists that it is in: numbers of accounts + 1.
struct scope_binding {
  std::uint64_t path;  // as in the account's key, which is a cache line more
  std::uint32_t kind;
  std::uint32_t scope;     // index; 0: free for the next of its kind
  std::uint32_t next;      // in the same bucket
  std::uint32_t sibling;   // of the same scope, bound in the same way
  std::uint32_t batch;     // what a thread gets back beside this and its siblings
  std::uint32_t code_age;  // + 1, of its thread, when its path meant its stack; 0: that must be looked at
};
inline constexpr unsigned binding_chunk_bits = 12;
inline constexpr std::uint32_t binding_chunk_accounts = 1u << binding_chunk_bits;
HL_INTERNAL extern scope_binding* binding_chunks[tag::account_limit >> binding_chunk_bits];

// The index of the scope that it is bound to. 0: the account is not a scope's.
HL_HOT std::uint32_t scope_of_account(std::uint32_t account) {
  const scope_binding* chunk = __atomic_load_n(&binding_chunks[account >> binding_chunk_bits], __ATOMIC_ACQUIRE);
  if (HL_LIKELY(chunk == nullptr)) return 0;
  return __atomic_load_n(&chunk[account & (binding_chunk_accounts - 1)].scope, __ATOMIC_ACQUIRE);
}

// nullptr: a handler that interrupted this event has forked, and all accounts are gone.
inline scope_binding* known_binding(std::uint32_t account) {
  scope_binding* const chunk = __atomic_load_n(&binding_chunks[account >> binding_chunk_bits], __ATOMIC_RELAXED);
  return HL_UNLIKELY(chunk == nullptr) ? nullptr : &chunk[account & (binding_chunk_accounts - 1)];
}
// What is written there then is nobody's.
HL_INTERNAL extern scope_binding no_binding;
inline scope_binding& binding_of(std::uint32_t account) {
  scope_binding* const known = known_binding(account);
  return HL_UNLIKELY(known == nullptr) ? no_binding : *known;
}
// A binding for an account that was just made, bound to nothing. False: no memory.
bool make_binding(std::uint32_t account);
void reset_binding_chunks(bool unmap);

// Accounts that are bound are found by their scope, those that are free by their kind; by the path of their stack,
// because the same stack may have several nodes. Used by one thread at a time. A handler may leave it by longjmp in the
// middle: then it lacks an account.
class binding_table {
 public:
  // Before an account is put into it for the first time. False: no memory. With signals blocked where it grows.
  bool has_room() const { return buckets_ != nullptr && count_ <= std::uint32_t{1} << bits_; }
  bool grow();

  // Account + 1 that is bound to the scope, or, with 0, is free; of that kind and path, for which `is_same(account)`;
  // 0: there is none.
  template <class IsSame>
  std::uint32_t find(std::uint32_t scope, std::uint32_t kind, std::uint64_t path, IsSame is_same) const {
    return buckets_ == nullptr ? 0 : *place_of(scope, kind, path, is_same);
  }
  // The same of one that is free, and takes it out.
  template <class IsSame>
  std::uint32_t take(std::uint32_t kind, std::uint64_t path, IsSame is_same) {
    if (buckets_ == nullptr) return 0;
    std::uint32_t* const at = place_of(0, kind, path, is_same);
    const std::uint32_t found = *at;
    if (found == 0) return 0;
    *at = binding_of(found - 1).next;
    add_to_count(-1);
    return found;
  }

  void add(std::uint32_t account) {
    put(account);
    add_to_count(1);
  }
  void remove(std::uint32_t account) {
    take_out(account);
    add_to_count(-1);
  }
  // Changes what an account in it is bound to.
  void rebind(std::uint32_t account, std::uint32_t scope) {
    take_out(account);
    __atomic_store_n(&binding_of(account).scope, scope, __ATOMIC_RELEASE);
    put(account);
  }

  std::uint32_t count() const { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }
  // Account + 1 of one that is free, from some of the buckets; 0: none is. `hand` is where to go on the next time.
  std::uint32_t some_free(std::uint32_t& hand) const;
  void reset(bool unmap);

 private:
  std::uint32_t& bucket_of(std::uint32_t scope, std::uint32_t kind, std::uint64_t path) const {
    const std::uint64_t key = (std::uint64_t{scope != 0} << 63 | std::uint64_t{scope != 0 ? scope : kind} << 32) ^ path;
    const std::uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
    return buckets_[(mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u >> (64 - bits_)];
  }
  template <class IsSame>
  std::uint32_t* place_of(std::uint32_t scope, std::uint32_t kind, std::uint64_t path, IsSame is_same) const {
    std::uint32_t* at = &bucket_of(scope, kind, path);
    while (*at != 0) {
      scope_binding* const of = known_binding(*at - 1);
      if (HL_UNLIKELY(of == nullptr)) {
        *at = 0;
        break;
      }
      if (of->path == path && of->scope == scope && of->kind == kind && is_same(*at - 1)) break;
      at = &of->next;
    }
    return at;
  }
  void add_to_count(int change) {
    __atomic_store_n(&count_, count_ + static_cast<std::uint32_t>(change), __ATOMIC_RELAXED);
  }
  std::uint32_t& home_of(const scope_binding& of) const { return bucket_of(of.scope, of.kind, of.path); }
  void put(std::uint32_t account);
  void take_out(std::uint32_t account);

  std::uint32_t* buckets_ = nullptr;
  unsigned bits_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace heapledger::probe

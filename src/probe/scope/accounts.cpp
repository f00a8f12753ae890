#include "probe/scope/accounts.hpp"

#include "probe/account/cells.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/publish/nodes.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {

constinit scope_binding* binding_chunks[tag::account_limit >> binding_chunk_bits] = {};

namespace {

constexpr unsigned first_bucket_bits = 10;

constinit std::uint32_t bindings_lock = 0;
constinit std::uint32_t* buckets = nullptr;
constinit unsigned bucket_bits = 0;
constinit std::uint32_t bound_ever = 0;
constinit std::uint32_t code_epoch = 0;

scope_binding& binding_of(std::uint32_t account) {
  return binding_chunks[account >> binding_chunk_bits][account & (binding_chunk_accounts - 1)];
}

bool make_room(std::uint32_t account) {
  scope_binding*& chunk = binding_chunks[account >> binding_chunk_bits];
  if (chunk != nullptr) return true;
  void* memory = own_map(binding_chunk_accounts * sizeof(scope_binding));
  if (memory == nullptr) return false;
  __atomic_store_n(&chunk, static_cast<scope_binding*>(memory), __ATOMIC_RELEASE);
  return true;
}

// An account that is bound is found by its scope, one that is free by its kind; by the path of its stack, because the
// same stack may have several nodes.
std::uint32_t& bucket_of(bool bound, std::uint32_t scope_or_kind, std::uint64_t path) {
  const std::uint64_t key = (std::uint64_t{bound} << 63 | std::uint64_t{scope_or_kind} << 32) ^ path;
  const std::uint64_t mixed = (key ^ key >> 29) * 0x9e3779b97f4a7c15u;
  return buckets[(mixed ^ mixed >> 32) * 0xd6e8feb86659fd93u >> (64 - bucket_bits)];
}
std::uint32_t& home_of(std::uint32_t account) {
  const wire::account_key& key = segment.account_keys[account];
  const std::uint32_t scope = binding_of(account).scope;
  return bucket_of(scope != 0, scope != 0 ? scope : key.scope, key.path);
}
void put(std::uint32_t account) {
  std::uint32_t& home = home_of(account);
  binding_of(account).next = home;
  home = account + 1;
}
void take_out(std::uint32_t account) {
  std::uint32_t* at = &home_of(account);
  while (*at != account + 1) at = &binding_of(*at - 1).next;
  *at = binding_of(account).next;
}

bool grow_buckets() {
  const unsigned bits = buckets == nullptr ? first_bucket_bits : bucket_bits + 1;
  auto* larger = static_cast<std::uint32_t*>(own_map(sizeof(std::uint32_t) << bits));
  if (larger == nullptr) return buckets != nullptr;
  std::uint32_t* old = buckets;
  const std::uint32_t old_count = old == nullptr ? 0 : 1u << bucket_bits;
  buckets = larger;
  bucket_bits = bits;
  for (std::uint32_t i = 0; i < old_count; ++i)
    for (std::uint32_t at = old[i]; at != 0;) {
      const std::uint32_t account = at - 1;
      at = binding_of(account).next;
      put(account);
    }
  if (old != nullptr) own_unmap(old, sizeof(std::uint32_t) * old_count);
  return true;
}

// The path may have meant other code before: then the places differ.
std::uint32_t find(std::uint32_t at, std::uint32_t scope, std::uint32_t kind, std::uint32_t node, std::uint64_t path) {
  for (; at != 0; at = binding_of(at - 1).next) {
    const wire::account_key& key = segment.account_keys[at - 1];
    if (binding_of(at - 1).scope == scope && key.scope == kind && key.path == path && same_stack(key.node, node)) break;
  }
  return at;
}

void bind(scope_record& record, std::uint32_t account) {
  scope_binding& of = binding_of(account);
  __atomic_store_n(&of.scope, record.index, __ATOMIC_RELEASE);
  of.sibling = record.first_account;
  record.first_account = account + 1;
  put(account);
}

// The scope's own, or one that waits for such a scope; account + 1, 0: there is none. `owner`: writer + 1, or 0 for
// nobody.
std::uint32_t bind_known(scope_record& record, std::uint32_t node, std::uint64_t path, std::uint32_t owner) {
  if (const std::uint32_t known = find(bucket_of(true, record.index, path), record.index, record.kind, node, path);
      known != 0) {
    std::uint32_t& has = segment.account_keys[known - 1].owner;
    if ((has & wire::owner_writer) == 0 && owner != 0) __atomic_store_n(&has, owner | has, __ATOMIC_RELAXED);
    return known;
  }
  const std::uint32_t waiting = find(bucket_of(false, record.kind, path), 0, record.kind, node, path);
  if (waiting == 0) return 0;
  const std::uint32_t account = waiting - 1;
  take_out(account);
  // Nobody books in it between two scopes: whoever binds it may own it.
  std::uint32_t& has = segment.account_keys[account].owner;
  const std::uint32_t before = has & wire::owner_writer;
  const std::uint32_t changed = before != 0 && before != owner ? wire::owner_changed : has & wire::owner_changed;
  __atomic_store_n(&has, owner | wire::owner_in_scope | changed, __ATOMIC_RELAXED);
  bind(record, account);
  return waiting;
}

// With the lock held.
std::uint32_t find_or_bind(scope_record& record, std::uint32_t node, std::uint64_t path, stack_cut cut,
                           std::uint32_t owner) {
  if ((buckets == nullptr || bound_ever > 1u << bucket_bits) && !grow_buckets()) return 0;
  if (const std::uint32_t known = bind_known(record, node, path, owner); known != 0) return known - 1;
  const std::uint32_t account = add_scope_account({node, record.kind, 0, owner | wire::owner_in_scope, path}, cut);
  if (account == 0 || !make_room(account)) return 0;
  ++bound_ever;
  bind(record, account);
  return account;
}

// Account + 1; 0: none is known, or its path may mean other code by now.
std::uint32_t follower_of(std::uint32_t account) {
  const std::uint64_t follower = __atomic_load_n(&binding_of(account).follower, __ATOMIC_RELAXED);
  return follower >> 32 == code_epoch ? static_cast<std::uint32_t>(follower) : 0;
}

void bind_followers(scope_record& record, std::uint32_t account, std::uint32_t owner, bound_ahead& ahead) {
  while (ahead.count < ahead.wanted) {
    const std::uint32_t follower = follower_of(account);
    if (follower == 0) return;
    const wire::account_key& next = segment.account_keys[follower - 1];
    const std::uint32_t known = bind_known(record, next.node, next.path, owner);
    if (known == 0) return;
    account = known - 1;
    ahead.accounts[ahead.count++] = account;
  }
}

}  // namespace

std::uint32_t bind_account(books& own, scope_record& record, std::uint32_t node, std::uint64_t path, stack_cut cut,
                           bound_ahead& ahead) {
  const inner_lock_guard held(bindings_lock);
  const std::uint32_t account = find_or_bind(record, node, path, cut, own.writer_id);
  if (account != 0) bind_followers(record, account, own.writer_id, ahead);
  return account;
}

void note_follower(std::uint32_t account, std::uint32_t follower) {
  scope_binding* const chunk = binding_chunks[account >> binding_chunk_bits];
  if (HL_UNLIKELY(chunk == nullptr)) return;  // a handler that interrupted this event has forked
  const std::uint64_t epoch = __atomic_load_n(&code_epoch, __ATOMIC_RELAXED);
  std::uint64_t& known = chunk[account & (binding_chunk_accounts - 1)].follower;
  const std::uint64_t now = epoch << 32 | (follower + 1);
  if (__atomic_load_n(&known, __ATOMIC_RELAXED) != now) __atomic_store_n(&known, now, __ATOMIC_RELAXED);
}

std::uint32_t bind_first_account(scope_record& record) {
  const inner_lock_guard held(bindings_lock);
  return find_or_bind(record, 0, 0, stack_cut::none, 0);
}

void unbind_accounts(scope_record& record) {
  const inner_lock_guard held(bindings_lock);
  for (std::uint32_t at = record.first_account; at != 0;) {
    const std::uint32_t account = at - 1;
    at = binding_of(account).sibling;
    take_out(account);
    __atomic_store_n(&binding_of(account).scope, 0, __ATOMIC_RELAXED);
    put(account);
  }
  record.first_account = 0;
}

void forget_followers() {
  const lock_guard held(bindings_lock);
  __atomic_store_n(&code_epoch, code_epoch + 1, __ATOMIC_RELAXED);
}

void reset_bindings(bool unmap) {
  bindings_lock = 0;
  for (scope_binding*& chunk : binding_chunks) {
    if (unmap && chunk != nullptr) own_unmap(chunk, binding_chunk_accounts * sizeof(scope_binding));
    chunk = nullptr;
  }
  if (unmap && buckets != nullptr) own_unmap(buckets, sizeof(std::uint32_t) << bucket_bits);
  buckets = nullptr;
  bucket_bits = 0;
  bound_ever = 0;
}

}  // namespace heapledger::probe

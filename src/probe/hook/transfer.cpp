#include "probe/hook/transfer.hpp"

#include "probe/account/large_blocks.hpp"
#include "probe/base/access.hpp"
#include "probe/hook/block.hpp"
#include "probe/hook/kept_leases.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/scope_gate.hpp"

namespace heapledger::probe {
namespace {

// What the allocator and we keep around a block may not be there, where it is none, or the kernel has got it back.
bool may_be_block(void* block) {
  large_block found;
  if (find_large(block, found)) return true;
  if (!is_readable(static_cast<const std::uint64_t*>(block) - 1)) return false;
  const std::size_t usable = usable_size(block);
  return may_have_tag(usable) && is_readable(&tag_word(block, usable));
}

bool is_admitted(books& own, const replaced_block& what, scope_handle to) {
  const scope_handle before = switch_scope(own, to);
  const bool admitted = !own.gated || admit(own, what.bytes, 0, false, what);
  switch_back(own, before);
  return admitted;
}

// Books the move; the new account.
std::uint32_t move(books& own, const replaced_block& what, scope_handle to) {
  const char nowhere = 0;
  const wire::account_key& key = segment.account_keys[what.account];
  book_free(own, what.account, &nowhere, what.bytes);
  const scope_handle before = switch_scope(own, to);
  const account_cell place = account_cell_of_node(own, key.node, key.path);
  book_allocation(own, *place.cell, nullptr, what.bytes);
  switch_back(own, before);
  return place.account;
}

bool move_large(books& own, void* block, const replaced_block& what, scope_handle to) {
  large_block found;
  if (!take_large(block, found)) return false;
  const large_block before = found;
  found.account = move(own, what, to);
  if (state.lifetimes) {
    end_large_life(own, before);
    found.born_ns = begin_life(found.account);
  }
  add_large(found);
  return true;
}

void move_small(books& own, void* block, std::size_t usable, const replaced_block& what, scope_handle to) {
  std::uint64_t& word = tag_word(block, usable);
  const tag before(word, block, state.tag_key);
  const std::uint32_t account = move(own, what, to);
  word = tag::make(block, state.tag_key, account, before.slack(), before.kind());
  if (state.lifetimes) {
    end_life(own, what.account, block, usable, what.bytes);
    note_birth(block, usable, begin_life(account));
  }
}

}  // namespace

bool transfer(books& own, void* block, scope_handle to) {
  kept_leases leases;
  replaced_block what, still;
  if (!may_be_block(block) || !find_booked(block, what) || !leases.keep(own)) return false;
  const bool moves = is_admitted(own, what, to) && find_booked(block, still) &&
                     still == what;  // unless a reaction has freed or moved it
  if (moves && !move_large(own, block, what, to)) move_small(own, block, usable_size(block), what, to);
  const scope_handle before = switch_scope(own, to);
  leases.give_back(own, what.account);
  switch_back(own, before);
  return moves;
}

}  // namespace heapledger::probe

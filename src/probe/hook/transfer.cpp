#include "probe/hook/transfer.hpp"

#include "probe/account/large_blocks.hpp"
#include "probe/hook/block.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/scope_gate.hpp"

namespace heapledger::probe {
namespace {

// Books the move of so many bytes from an account; the new account, or the old one where it is refused.
std::uint32_t move(books& own, std::uint32_t from, std::size_t bytes, scope_handle to, bool& admitted) {
  if (thread_scopes_of(own) == nullptr) return from;
  own.scopes->holding = true;  // the free may have to be taken back
  const char nowhere = 0;
  const wire::account_key& key = segment.account_keys[from];
  book_free(own, from, &nowhere, bytes);
  const scope_handle before = switch_scope(own, to);
  admitted = !own.gated || admit(own, bytes, 0);
  std::uint32_t account = from;
  if (admitted) {
    const account_cell place = account_cell_of_node(own, key.node, key.path);
    account = place.account;
    book_allocation(own, *place.cell, nullptr, bytes);
    switch_back(own, before);
  } else {
    switch_back(own, before);
    unbook_free(own, from, bytes, nullptr);
  }
  own.scopes->holding = false;
  return account;
}

}  // namespace

bool transfer(books& own, void* block, scope_handle to) {
  bool admitted = false;
  const std::size_t usable = usable_size(block);
  if (usable >= large_usable_bytes) {
    large_block found;
    if (!take_large(block, found)) return false;
    const large_block before = found;
    if (found.birth == state.birth) found.account = move(own, found.account, found.bytes, to, admitted);
    if (admitted && state.lifetimes) {
      end_large_life(own, before);
      found.born_ns = begin_life(found.account);
    }
    add_large(found);
    return admitted;
  }
  if (usable < tag_bytes) return false;
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (!found.intact(usable, bytes)) return false;
  const std::uint32_t account = move(own, found.account(), bytes, to, admitted);
  word = tag::make(block, state.tag_key, account, found.slack(), found.kind());
  if (admitted && state.lifetimes) {
    end_life(own, found.account(), block, usable, bytes);
    note_birth(block, usable, begin_life(account));
  }
  return admitted;
}

}  // namespace heapledger::probe

// One allocation or free, from the block to the books. The hooks in malloc.cpp and new.cpp are made of these.
#pragma once

#include "probe/account/cells.hpp"
#include "probe/hook/block.hpp"
#include "probe/hook/process.hpp"
#include "probe/hook/self_check.hpp"

namespace heapledger::probe {

// The state of the program at the call of the hook that uses this: its caller's frame.
#define HL_CALLER()                                                                                       \
  ::heapledger::probe::frame_state {                                                                      \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),                                         \
        reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()), ::heapledger::probe::caller_frame_pointer() \
  }

// The probe is compiled so that it never writes rbp.
HL_HOT std::uint64_t caller_frame_pointer() {
  std::uint64_t value;
  asm volatile("movq %%rbp, %0" : "=r"(value));
  return value;
}

struct known_block {
  std::uint32_t account;
  std::size_t bytes;
  block_kind kind;
};

HL_COLD void book_large(books& own, void* block, const known_block& what);
HL_COLD void leave_unbooked(void* block, std::size_t usable);

// The rarer frees: large blocks, and blocks whose tag is not what it should be. False: not the next allocator's.
HL_COLD bool release_odd(const booking& event, void* block, std::size_t usable, block_kind by);

HL_HOT void book_new_block(void* block, std::size_t bytes, block_kind kind, const frame_state& caller,
                           bool reallocated = false) {
  const std::size_t usable = usable_size(block);
  const booking event(reinterpret_cast<const void*>(caller.rsp));
  if (HL_UNLIKELY(!event)) return leave_unbooked(block, usable);
  std::uint32_t node = 0;
  if (HL_LIKELY(!state.stacks_off)) node = event->stack.node_of(caller);
  if (HL_UNLIKELY(state.check)) check_stack(caller, node);
  const auto [account, cell] = account_of(*event, node);
  if (HL_LIKELY(usable < large_usable_bytes))
    tag_word(block, usable) = tag::make(block, state.tag_key, account, usable - tag_bytes - bytes, kind).word();
  else
    book_large(*event, block, {account, bytes, kind});
  if (reallocated) ++cell->reallocations;
  book_allocation(*event, *cell, block, bytes);
}

// Books the free of a block that is about to go back. `by` is the kind that the freeing function is for. False: the
// block is not the next allocator's, and must not be passed on.
HL_HOT bool release(void* block, block_kind by) {
  // Before the tag is looked at: in a forked child this is what changes the key.
  const booking event(__builtin_dwarf_cfa());
  const std::size_t usable = usable_size(block);
  if (HL_UNLIKELY(usable >= large_usable_bytes)) return release_odd(event, block, usable, by);
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word);
  if (HL_UNLIKELY(!event || !found.intact(block, state.tag_key) || found.kind() != by))
    return release_odd(event, block, usable, by);
  word = tag::make(block, state.tag_key, found.account(), found.slack(), block_kind::freed).word();
  book_free(*event, found.account(), block, usable - tag_bytes - found.slack());
  return true;
}

}  // namespace heapledger::probe

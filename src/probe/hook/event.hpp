// One allocation or free, from the block to the books. The hooks in malloc.cpp and new.cpp are made of these.
#pragma once

#include "probe/base/attributes.hpp"

#include "probe/account/cells.hpp"
#include "probe/hook/block.hpp"
#include "probe/hook/process.hpp"
#include "probe/hook/self_check.hpp"

namespace heapledger::probe {

// The state of the program at the call of the hook that uses this: its caller's frame.
#define HL_CALLER()                                                                                         \
  ::heapledger::probe::frame_state {                                                                        \
    reinterpret_cast<std::uint64_t>(__builtin_return_address(0)),                                           \
        reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa()), ::heapledger::probe::caller_frame_pointer() \
  }

// The probe is compiled so that it never writes rbp.
HL_HOT std::uint64_t caller_frame_pointer() {
  std::uint64_t value;
  asm volatile("movq %%rbp, %0" : "=r"(value));
  return value;
}

// The rarer ways of an event. Each does all that is left to do, so that the fast path jumps to it and keeps no
// registers for it. `own` is taken.
template <block_kind Kind, bool Throws>
void* book_walked(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);
// Where the allocator behind us is not glibc's, no stack is wanted, or every stack is to be checked.
template <block_kind Kind, bool Throws>
void* book_other(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);
template <block_kind Kind, bool Throws>
HL_COLD void* book_first(void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp);
template <block_kind Kind>
void free_other(books* own, void* block);
// Where the account is another thread's, or one of a scope.
template <block_kind Kind>
void free_elsewhere(books* own, void* block, std::uint64_t& word, std::size_t bytes, std::uint32_t account);
template <block_kind Kind>
HL_COLD void free_first(void* block);
HL_COLD void* publish_and_give(books* own, void* block);
HL_COLD void publish_and_free(books* own, void* block);

// The same with books taken by the caller, or to be found, for what is not on a fast path. Each returns the block,
// which may have moved to a slot of the leak watch: with what it held if it was reallocated, else zeroed.
[[nodiscard]] void* book(books& own, void* block, std::size_t bytes, block_kind kind, const frame_state& caller,
                         bool reallocated);
[[nodiscard]] void* book_or_leave(void* block, std::size_t bytes, block_kind kind, const frame_state& caller,
                                  bool reallocated);

// Whether there is such an account.
inline bool known_account(std::uint32_t account) {
  return segment.header != nullptr && account < __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE);
}

// Nothing is lost that comes after the end of the books.
inline void count_unbooked() {
  if (!state.detached) count_loss(wire::loss::unbooked);
}

// Books the free of a block, whatever its size and the state of its tag. False: not the next allocator's, and must not
// be passed on.
bool release(books& own, void* block, block_kind by);

// The end of the fast path: the stack is the remembered one, and so is the cell. `own` is taken.
template <block_kind Kind>
HL_HOT void* book_known(books* own, void* block, std::size_t bytes, std::size_t usable, std::uint64_t generation) {
  tag_word(block, usable) = tag::make(block, state.tag_key, own->recent_account, usable - tag_bytes - bytes, Kind);
  add_allocation(*own, *own->recent_cell, block, bytes);
  give(own, generation);
  return block;
}

// Beyond it, something is to be published, or to be asked of a budget, before the event is booked.
HL_HOT bool passes_mark(const books& own, std::size_t bytes) {
  return HL_UNLIKELY(own.live + static_cast<std::int64_t>(bytes) > own.publish_above);
}

// Books a block that the next allocator has just given out; returns it. Where a budget refuses it: nullptr, or throws.
// Whatever is called from here is called last, so that hardly a register need be saved.
template <block_kind Kind, bool Throws = false>
HL_HOT void* book_block(void* block, std::size_t bytes, frame_state caller) {
  asm("" : "+r"(caller.rsp));  // computed once, not at each use
  books* own = this_thread;
  const std::uint64_t generation = process.generation;
  if (HL_UNLIKELY(own->generation != generation))
    return book_first<Kind, Throws>(block, bytes, caller.pc, caller.rsp, caller.rbp);
  take(own, reinterpret_cast<const void*>(caller.rsp));
  if (HL_UNLIKELY(!state.direct)) return book_other<Kind, Throws>(own, block, bytes, caller.pc, caller.rsp, caller.rbp);
  if (HL_UNLIKELY(!own->stack.same(caller) || !peak_settled(*own->recent_cell) || passes_mark(*own, bytes)))
    return book_walked<Kind, Throws>(own, block, bytes, caller.pc, caller.rsp, caller.rbp);
  const glibc_chunk chunk(block);
  if (HL_UNLIKELY(!chunk.small(large_usable_bytes)))
    return book_walked<Kind, Throws>(own, block, bytes, caller.pc, caller.rsp, caller.rbp);
  return book_known<Kind>(own, block, bytes, chunk.usable(), generation);
}

// Books the free of a block, and frees it.
template <block_kind Kind>
HL_HOT void free_block(void* block) {
  books* own = this_thread;
  const std::uint64_t generation = process.generation;
  if (HL_UNLIKELY(own->generation != generation)) return free_first<Kind>(block);
  take(own, __builtin_dwarf_cfa());
  if (HL_UNLIKELY(!state.free_direct)) return free_other<Kind>(own, block);
  const glibc_chunk chunk(block);
  if (HL_UNLIKELY(!chunk.small(large_usable_bytes))) return free_other<Kind>(own, block);
  const std::size_t usable = chunk.usable();
  std::uint64_t& word = tag_word(block, usable);
  if (HL_UNLIKELY(begins_page(word))) return free_other<Kind>(own, block);
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (HL_UNLIKELY(!found.good(Kind, usable, bytes) || own->live > own->peak_mark)) return free_other<Kind>(own, block);
  wire::cell* cell = own->recent_cell;
  if (found.account() != own->recent_account) {
    if (own->id != __atomic_load_n(&sole_writer, __ATOMIC_RELAXED) &&
        HL_UNLIKELY(segment.account_keys[found.account()].owner != own->id))
      return free_elsewhere<Kind>(own, block, word, bytes, found.account());
    cell = &segment.accounts[found.account()];
  }
  if (HL_UNLIKELY(!peak_settled(*cell))) return free_other<Kind>(own, block);
  word = ~word;
  add_free(*own, *cell, block, bytes);
  if (HL_UNLIKELY(own->live < own->publish_below)) return publish_and_free(own, block);
  give(own, generation);
  next.free(block);
}

}  // namespace heapledger::probe

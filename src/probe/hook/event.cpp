#include "probe/hook/event.hpp"

#include <unistd.h>

#include "probe/account/errors.hpp"
#include "probe/account/large_blocks.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/scope_gate.hpp"
#include "probe/hook/watched_block.hpp"

namespace heapledger::probe {
namespace {

bool foreign() {
  count_loss(wire::loss::foreign_frees);
  return true;
}

bool inherited(std::size_t bytes) {
  count_inherited(bytes);
  return true;
}

bool release_large(books& own, void* block, block_kind by) {
  large_block found;
  if (!take_large(block, found)) return foreign();
  if (found.birth != state.birth) return inherited(found.bytes);
  if (found.kind != by) report_error(wire::error_kind::mismatch, found.account);
  if (HL_UNLIKELY(state.lifetimes)) end_large_life(own, found);
  book_free(own, found.account, block, found.bytes);
  return true;
}

bool known_account(std::uint32_t account) {
  return segment.header != nullptr && account < __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE);
}

// The program wrote past the end of its block. Byte 0 alone broken, the size and the account are still right;
// broken further, the size is taken to have been all that fits, and counted as unsure.
void release_overwritten(books& own, void* block, std::size_t usable, const tag found) {
  std::uint32_t account = found.account();
  std::size_t slack = found.slack_without_byte_0();
  const std::size_t room = usable - tag_bytes;
  const std::size_t largest_glibc_slack = 16 + state.trailer_bytes;
  const std::size_t largest_slack = next.glibc && largest_glibc_slack < room ? largest_glibc_slack : room;
  const bool size_known = slack <= largest_slack && known_account(account);
  if (!size_known) {
    count_loss(wire::loss::overflow_size);
    slack = 0;
    if (!known_account(account)) account = 0;
  }
  report_error(wire::error_kind::overflow, account);
  if (state.lifetimes) lose_life(own);  // what came through to the tag came through the time of birth
  book_free(own, account, block, room - slack);
}

}  // namespace

namespace {

bool release_odd(books& own, void* block, std::size_t usable, block_kind by) {
  if (HL_UNLIKELY(is_watched(block))) return release_watched(own, block, by);
  if (is_bootstrap(block)) return false;
  if (usable >= large_usable_bytes) return release_large(own, block, by);
  if (usable < tag_bytes) return foreign();
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (found.intact(usable, bytes)) {
    report_error(wire::error_kind::mismatch, found.account());
    if (state.lifetimes) end_life(own, found.account(), block, usable, bytes);
    book_free(own, found.account(), block, bytes);
    word = ~word;
  } else if (const tag freed(~word, block, state.tag_key); freed.intact(usable, bytes)) {
    report_error(wire::error_kind::double_free, freed.account());
    // the allocator does what it would do without us
  } else if (inherited_tag(block, usable, bytes)) {
    inherited(bytes);
  } else if (found.recognized()) {
    release_overwritten(own, block, usable, found);
    word = ~tag::make(block, state.tag_key, 0, 0, by);
  } else {
    foreign();
  }
  return true;
}

// The memory may still hold the tag of an earlier block.
HL_COLD void leave_unbooked(void* block) {
  const std::size_t usable = usable_size(block);
  if (usable >= tag_bytes && usable < large_usable_bytes) tag_word(block, usable) = 0;
  count_loss(wire::loss::unbooked);
}

}  // namespace

bool is_beyond_heap(const std::uint64_t& tag) {
  return next.glibc && &tag == ::sbrk(0);
}

bool release(books& own, void* block, block_kind by) {
  const std::size_t usable = usable_size(block);
  if (HL_UNLIKELY(usable >= large_usable_bytes)) return release_odd(own, block, usable, by);
  std::uint64_t& word = tag_word(block, usable);
  if (is_cut_off(word)) return foreign();
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (HL_UNLIKELY(!found.good(by, usable, bytes))) return release_odd(own, block, usable, by);
  word = ~word;
  if (HL_UNLIKELY(state.lifetimes)) end_life(own, found.account(), block, usable, bytes);
  book_free(own, found.account(), block, bytes);
  return true;
}

namespace {

// Every stack against another unwinder's, and what is known by its end against the walk.
HL_COLD void check(books& own, const frame_state& caller, const stack_end* met) {
  const std::uint32_t met_account = met != nullptr ? met->account : 0;
  const auto [account, cell] = account_of(own, own.stack.path());
  if (account != 0) check_stack(caller, segment.account_keys[account].node, own.stack);
  if (met != nullptr && met_account != account) stack_differs(caller, segment.account_keys[account].node);
  if (cell == &segment.accounts[account]) own.recent.ends().learn(own.stack, account, cell);
}

}  // namespace

void* book(books& own, void* block, std::size_t bytes, block_kind kind, const frame_state& caller, bool reallocated) {
  const std::size_t usable = usable_size(block);
  const stack_end* met = HL_UNLIKELY(state.check) ? own.recent.ends().find(own.stack, caller.pc, caller.rsp) : nullptr;
  if (HL_LIKELY(!state.stacks_off) && !own.stack.same(caller)) own.stack.walk(caller.pc, caller.rsp, caller.rbp);
  if (HL_UNLIKELY(state.check)) check(own, caller, met);
  const auto [account, cell] = account_of(own, own.stack.path());
  if (HL_UNLIKELY(cell == &no_cell)) return book_suspect(own, block, {account, bytes, usable, kind, reallocated});
  const std::uint64_t born_ns = HL_UNLIKELY(state.lifetimes) ? begin_life(account) : 0;
  if (HL_LIKELY(usable < large_usable_bytes))
    tag_word(block, usable) = tag::make(block, state.tag_key, account, usable - tag_bytes - bytes, kind);
  else
    // Without an entry the free will not be recognised; the loss is counted there too.
    add_large({reinterpret_cast<std::uint64_t>(block), bytes, account, state.birth, kind, born_ns});
  if (reallocated) ++cell->reallocations;
  book_allocation(own, *cell, block, bytes);
  if (HL_UNLIKELY(state.lifetimes) && usable < large_usable_bytes) note_birth(block, usable, born_ns);
  return block;
}

namespace {
void* book_settled(books& own, void* block, std::size_t bytes, block_kind kind, const frame_state& caller,
                   bool reallocated) {
  block = book(own, block, bytes, kind, caller, reallocated);
  if (HL_UNLIKELY(own.gated)) settle_scope(own);
  return block;
}
}  // namespace

void* book_or_leave(void* block, std::size_t bytes, block_kind kind, const frame_state& caller, bool reallocated) {
  const booking event(reinterpret_cast<const void*>(caller.rsp));
  if (HL_LIKELY(event)) return book_settled(*event, block, bytes, kind, caller, reallocated);
  leave_unbooked(block);
  return block;
}

// In a scope with a budget, and beyond what this thread has leased.
template <block_kind Kind, bool Throws>
[[gnu::noinline]] void* book_gated(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp,
                                   std::uint64_t rbp) {
  if (!admit(*own, bytes, pc, Throws)) return refuse<Throws>(own, block);
  block = book(*own, block, bytes, Kind, {pc, rsp, rbp}, false);
  settle_scope(*own);
  give(own, own->known_generation);
  return block;
}

// Whatever the allocator, the size and the options.
template <block_kind Kind, bool Throws>
HL_COLD void* book_any(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp,
                       std::uint64_t rbp) {
  if (own->gated && !leases_cover(*own, bytes)) return book_gated<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  block = book(*own, block, bytes, Kind, {pc, rsp, rbp}, false);
  give(own, own->known_generation);
  return block;
}

// Before its first event since the peak moved; or a suspect of the leak watch, which has no such cell.
template <block_kind Kind>
HL_COLD void* book_unsettled(books* own, void* block, std::size_t bytes, std::uint32_t account, wire::cell* cell) {
  const std::size_t usable = usable_size(block);
  if (cell == &no_cell) {
    block = book_suspect(*own, block, {account, bytes, usable, Kind, false});
  } else {
    tag_word(block, usable) = tag::make(block, state.tag_key, account, usable - tag_bytes - bytes, Kind);
    book_allocation(*own, *cell, block, bytes);
  }
  give(own, own->known_generation);
  return block;
}

template <block_kind Kind, bool Throws>
void* book_walked(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  if (HL_UNLIKELY(own->gated) && !leases_cover(*own, bytes))
    return book_gated<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  const glibc_chunk chunk(block);
  if (HL_UNLIKELY(!chunk.small(large_usable_bytes))) return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  account_cell at;
  if (HL_UNLIKELY(state.stacks_off)) {
    at = account_of(*own, own->stack.path());
  } else if (const stack_end* met = own->recent.ends().find(own->stack, pc, rsp); met != nullptr) {
    at = {met->account, met->cell};
  } else {
    own->stack.walk(pc, rsp, rbp);
    at = account_of(*own, own->stack.path());
    if (HL_LIKELY(at.cell == &segment.accounts[at.account])) own->recent.ends().learn(own->stack, at.account, at.cell);
  }
  const auto [account, cell] = at;
  if (HL_UNLIKELY(!peak_settled(*cell))) return book_unsettled<Kind>(own, block, bytes, account, cell);
  const std::size_t usable = chunk.usable();
  tag_word(block, usable) = tag::make(block, state.tag_key, account, usable - tag_bytes - bytes, Kind);
  add_allocation(*own, *cell, block, bytes);
  if (HL_UNLIKELY(own->live > own->publish_above)) return publish_and_give(own, block);
  give(own, own->known_generation);
  return block;
}

// Without stacks: a fast path as well, that looks at none.
template <block_kind Kind, bool Throws>
[[gnu::noinline]] void* book_flat(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp,
                                  std::uint64_t rbp) {
  const glibc_chunk chunk(block);
  if (HL_UNLIKELY(!chunk.small(large_usable_bytes) || !peak_settled(*own->recent_cell) || passes_mark(*own, bytes)))
    return book_walked<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  return book_known<Kind>(own, block, bytes, chunk.usable(), own->known_generation);
}

template <block_kind Kind, bool Throws>
[[gnu::noinline]] void* book_compared(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp,
                                      std::uint64_t rbp) {
  const std::size_t usable = usable_size(block);
  const bool same = state.stacks_off || own->stack.same({pc, rsp, rbp});
  if (HL_UNLIKELY(state.check || !same || usable >= large_usable_bytes || !peak_settled(*own->recent_cell) ||
                  passes_mark(*own, bytes)))
    return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  return book_known<Kind>(own, block, bytes, usable, own->known_generation);
}

template <block_kind Kind, bool Throws>
void* book_other(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  if (HL_LIKELY(state.flat)) return book_flat<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  if (HL_UNLIKELY(state.lifetimes)) return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  return book_compared<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
}

template <block_kind Kind, bool Throws>
HL_COLD void* book_first(void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  const void* const at = reinterpret_cast<const void*>(rsp);
  books* own = scopes_in_use && books_of_thread() != nullptr ? find_books(at) : nullptr;
  if (own != nullptr && own->gated) {
    take(own, at);
    return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  }
  return book_or_leave(block, bytes, Kind, {pc, rsp, rbp}, false);
}

template <block_kind Kind>
void free_other(books* own, void* block) {
  const bool pass_on = release(*own, block, Kind);
  give(own, own->known_generation);
  if (pass_on) next.free(block);
}

template <block_kind Kind>
HL_COLD void free_first(void* block) {
  bool pass_on = true;
  {
    const booking event(__builtin_dwarf_cfa());
    if (event)
      pass_on = release(*event, block, Kind);
    else if (is_watched(block))
      pass_on = drop_watched(block);
    else if (is_bootstrap(block))
      pass_on = false;
    else
      count_loss(wire::loss::unbooked);
  }
  if (pass_on) next.free(block);
}

HL_COLD void* allocate_large(allocation_function* function, std::size_t bytes) {
  return function(with_tag(bytes));
}

constinit thread_local aligned_request last_aligned = {nullptr, 0};

HL_COLD void* align_again(void* block, std::size_t alignment, std::size_t bytes) {
  if ((alignment & (alignment - 1)) != 0) return block;  // no alignment, no promise
  next.free(block);
  block = next.memalign(alignment, with_tag(bytes) + alignment + 8);  // no power of two
  last_aligned.block = block;
  return block;
}

HL_COLD void* publish_and_give(books* own, void* block) {
  publish_live(*own);
  give(own, own->known_generation);
  return block;
}

HL_COLD void publish_and_free(books* own, void* block) {
  publish_live(*own);
  give(own, own->known_generation);
  next.free(block);
}

#define HL_THROWS(kind, throws)                                                                                      \
  template void* book_walked<kind, throws>(books*, void*, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t); \
  template void* book_other<kind, throws>(books*, void*, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t);  \
  template void* book_first<kind, throws>(void*, std::size_t, std::uint64_t, std::uint64_t, std::uint64_t);
HL_THROWS(block_kind::from_malloc, false)
HL_THROWS(block_kind::from_new, false)
HL_THROWS(block_kind::from_new, true)
HL_THROWS(block_kind::from_new_array, false)
HL_THROWS(block_kind::from_new_array, true)
#undef HL_THROWS
#define HL_KIND(kind)                            \
  template void free_other<kind>(books*, void*); \
  template void free_first<kind>(void*);
HL_KIND(block_kind::from_malloc)
HL_KIND(block_kind::from_new)
HL_KIND(block_kind::from_new_array)
#undef HL_KIND

}  // namespace heapledger::probe

// The allocation side of event.hpp, off the fast path.
#include "probe/hook/event.hpp"

#include "probe/account/errors.hpp"
#include "probe/account/large_blocks.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/scope_gate.hpp"
#include "probe/hook/watched_block.hpp"

namespace heapledger::probe {
namespace {

// The memory may still hold the tag of an earlier block.
HL_COLD void leave_unbooked(void* block) {
  const std::size_t usable = usable_size(block);
  if (usable >= tag_bytes && usable < large_usable_bytes) tag_word(block, usable) = 0;
  count_unbooked();
}

// A cell that is this thread's for good, or none: another may be folded away, and a suspect of the leak watch is
// offered to the watch each time.
HL_HOT wire::cell* lasting(const account_cell& at) {
  return at.cell == &segment.accounts[at.account] ? at.cell : nullptr;
}

// Met last in another scope than the thread is in now, or booked in no cell of the thread's own.
[[gnu::noinline]] account_cell account_anew(books& own, stack_end& met) {
  if (own.here == 0 && met.scope == 0 && met.account != 0) return cell_of_others_account(own, met.account);
  const account_cell at = own.here != 0 ? met_in_scope(own, met.path) : met_outside(own, met.path);
  if (at.cell == nullptr || at.cell == &no_cell) return at;
  met.scope = own.here;
  met.account = at.account;
  met.cell = lasting(at);
  return at;
}

// Where the stack of a known end is booked now; no cell: it must be walked after all. The remembered stack, and the
// recent account, stay as they are.
HL_HOT account_cell account_at(books& own, stack_end& met) {
  if (HL_LIKELY(met.scope == own.here && met.cell != nullptr)) return {met.account, met.cell};
  return account_anew(own, met);
}

// After a walk.
HL_HOT void learn_end(books& own, std::uint64_t path, const account_cell& at) {
  if (HL_LIKELY(at.cell != &no_cell)) own.ends.learn(own.stack, path, own.here, at.account, lasting(at));
}

HL_HOT account_cell by_end_or_walk(books& own, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  if (stack_end* met = own.ends.find(own.stack, pc, rsp, rbp); met != nullptr)
    if (const account_cell at = account_at(own, *met); HL_LIKELY(at.cell != nullptr)) return at;
  own.stack.walk(pc, rsp, rbp);
  const std::uint64_t path = own.stack.path();
  const account_cell at = account_of(own, path);
  learn_end(own, path, at);
  return at;
}

// Two threads that met a stack at the same time may have an account of it each.
bool of_one_stack(std::uint32_t account, std::uint32_t other) {
  const wire::account_key& key = segment.account_keys[account];
  const wire::account_key& others = segment.account_keys[other];
  return key.path == others.path && key.scope == others.scope;
}

// Every stack against another unwinder's, and what is known by its end against the walk.
HL_COLD account_cell checked(books& own, const frame_state& caller) {
  stack_end* met = own.ends.find(own.stack, caller.pc, caller.rsp, caller.rbp);
  const account_cell of_met = met != nullptr ? account_at(own, *met) : account_cell{0, nullptr};
  const std::uint64_t path_of_met = met != nullptr ? met->path : 0;
  if (!own.stack.same(caller)) own.stack.walk(caller.pc, caller.rsp, caller.rbp);
  const std::uint64_t path = own.stack.path();
  const account_cell at = account_of(own, path);
  const std::uint32_t node = segment.account_keys[at.account].node;
  if (at.account != 0) check_stack(caller, node, own.stack);
  if (met == nullptr)
    learn_end(own, path, at);
  else if (path_of_met != path || (of_met.cell != nullptr && !of_one_stack(of_met.account, at.account)))
    stack_differs(caller, node);
  return at;
}

account_cell account_of_caller(books& own, const frame_state& caller) {
  if (HL_UNLIKELY(state.check)) return checked(own, caller);
  if (HL_UNLIKELY(state.stacks_off) || own.stack.same(caller)) return account_of(own, own.stack.path());
  return by_end_or_walk(own, caller.pc, caller.rsp, caller.rbp);
}

}  // namespace

void* book(books& own, void* block, std::size_t bytes, block_kind kind, const frame_state& caller, bool reallocated) {
  std::size_t usable = usable_size(block);
  const bool tagged = takes_tag(usable, bytes);
  if (!tagged) usable = without_tag(usable);
  const auto [account, cell] = account_of_caller(own, caller);
  if (HL_UNLIKELY(cell == &no_cell)) return book_suspect(own, block, {account, bytes, usable, kind, reallocated});
  const std::uint64_t born_ns = HL_UNLIKELY(state.lifetimes) ? begin_life(account) : 0;
  if (tagged)
    tag_word(block, usable) = tag::make(block, state.tag_key, account, usable - tag_bytes - bytes, kind);
  else
    // Without an entry the free will not be recognised; the loss is counted there too.
    add_large({reinterpret_cast<std::uint64_t>(block), bytes, account, state.birth, kind, born_ns});
  if (reallocated) ++cell->reallocations;
  book_allocation(own, *cell, block, bytes);
  if (HL_UNLIKELY(state.lifetimes) && tagged) note_birth(block, usable, born_ns);
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
  if (!admit(*own, bytes, pc, Throws)) return refuse<Throws>(own, block, pc);
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

// What is no more than a block and its account, known by now.
template <block_kind Kind>
HL_HOT void* book_small(books* own, void* block, std::size_t bytes, std::size_t usable, account_cell at) {
  const auto [account, cell] = at;
  if (HL_UNLIKELY(!peak_settled(*cell))) return book_unsettled<Kind>(own, block, bytes, account, cell);
  tag_word(block, usable) = tag::make(block, state.tag_key, account, usable - tag_bytes - bytes, Kind);
  add_allocation(*own, *cell, block, bytes);
  if (HL_UNLIKELY(own->live > own->publish_above)) return publish_and_give(own, block);
  give(own, own->known_generation);
  return block;
}

template <block_kind Kind, bool Throws>
void* book_walked(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  if (HL_UNLIKELY(own->gated) && !leases_cover(*own, bytes))
    return book_gated<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  const glibc_chunk chunk(block);
  if (HL_UNLIKELY(!chunk.small(large_usable_bytes))) return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  const account_cell at =
      HL_UNLIKELY(state.stacks_off) ? account_of(*own, own->stack.path()) : by_end_or_walk(*own, pc, rsp, rbp);
  return book_small<Kind>(own, block, bytes, chunk.usable(), at);
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

// Behind us is an allocator that must be asked how much of a block is usable.
template <block_kind Kind, bool Throws>
[[gnu::noinline]] void* book_asked(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp,
                                   std::uint64_t rbp) {
  const std::size_t usable = usable_size(block);
  if (HL_UNLIKELY(state.check || !takes_tag(usable, bytes) || (own->gated && !leases_cover(*own, bytes))))
    return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  if (!state.stacks_off && !own->stack.same({pc, rsp, rbp}))
    return book_small<Kind>(own, block, bytes, usable, by_end_or_walk(*own, pc, rsp, rbp));
  if (HL_UNLIKELY(!peak_settled(*own->recent_cell)))
    return book_small<Kind>(own, block, bytes, usable, account_of(*own, own->stack.path()));
  return book_small<Kind>(own, block, bytes, usable, {own->recent_account, own->recent_cell});
}

template <block_kind Kind, bool Throws>
void* book_other(books* own, void* block, std::size_t bytes, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp) {
  if (HL_LIKELY(state.flat)) return book_flat<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  if (HL_UNLIKELY(state.lifetimes)) return book_any<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
  return book_asked<Kind, Throws>(own, block, bytes, pc, rsp, rbp);
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

HL_COLD void* allocate_large(allocation_function* function, std::size_t bytes) {
  return function(with_tag(bytes));
}

HL_COLD void* publish_and_give(books* own, void* block) {
  publish_live(*own);
  give(own, own->known_generation);
  return block;
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

}  // namespace heapledger::probe

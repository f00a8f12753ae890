#include "probe/hook/foreign.hpp"

#include "probe/base/lock.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/scope_gate.hpp"

namespace heapledger::probe {
namespace {

constinit foreign_memory of_process = {};

struct portion {
  const scope_record* of;  // nullptr: the process
  std::int64_t bytes, blocks;
};

foreign_memory& memory_of(scope_record* record) {
  return record != nullptr ? record->foreign : of_process;
}

// A scope by whose name one above it was charged stays, so that it is known whose it is.
void note_above(scope_handle named, const scope_record* charged, std::int64_t bytes) {
  scope_record* const record = record_at(index_of(named));
  if (record == nullptr || record == charged || !names(named, load_life(*record))) return;
  std::int64_t& above = record->foreign.above_bytes;
  const bool was = above != 0;
  above += bytes;
  if (above < 0) above = 0;
  if (was == (above != 0)) return;
  if (was)
    release_scope(named);
  else
    __atomic_fetch_add(&record->holds, 1, __ATOMIC_RELAXED);
}

// What has as many bytes, or else any: the scope itself, or the nearest above it, which was charged after it was
// closed. Nothing goes below zero: what a forked child gives back was its parent's.
scope_record* nearest_with(scope_record* scope, std::int64_t bytes) {
  while (scope != nullptr && scope->foreign.bytes < bytes) scope = scope->parent;
  return scope;
}

// It may go in other portions than it came: as long as some is there so is a block, and none is left with the last
// byte.
portion take_portion(scope_handle named, scope_record* scope, std::int64_t bytes) {
  const lock_guard held(scopes_lock);
  scope_record* from = nearest_with(scope, bytes);
  if (memory_of(from).bytes < bytes) from = nearest_with(scope, 1);
  foreign_memory& here = memory_of(from);
  if (here.bytes < bytes) bytes = here.bytes;
  here.bytes -= bytes;
  const std::int64_t going = here.bytes == 0 ? here.blocks : here.blocks > 1 ? 1 : 0;
  here.blocks -= going;
  note_above(named, from, -bytes);
  return {from, bytes, going};
}

void book_portion(books& own, const portion& gone) {
  const char nowhere = 0;
  // What lives in it keeps it until this is booked.
  switch_back(own, gone.of != nullptr ? handle_of(*gone.of, load_life(*gone.of)) : 0);
  const std::uint32_t account = stackless_account_cell(own).account;
  book_free(own, account, &nowhere, static_cast<std::size_t>(gone.bytes));
  if (gone.blocks == 0) return unbook_free(own, account, 0, nullptr);
  for (std::int64_t more = gone.blocks; --more != 0;) book_free(own, account, &nowhere, 0);
}

scope_record* current_record(const books& own) {
  const bool inside = own.scopes != nullptr && own.scopes->current != nullptr;
  return inside ? own.scopes->current->of : nullptr;
}

void give_back_foreign(books& own, scope_handle named, std::int64_t bytes) {
  scope_record* const scope = current_record(own);
  while (bytes > 0) {
    const portion gone = take_portion(named, scope, bytes);
    if (gone.bytes == 0) return;
    book_portion(own, gone);
    bytes -= gone.bytes;
  }
}

}  // namespace

bool charge_foreign(books& own, scope_handle scope, std::int64_t bytes) {
  // What goes back is credited as a block is: to the scope that has it, closed or not.
  const scope_handle before = bytes < 0 ? switch_back(own, scope) : switch_scope(own, scope);
  bool booked = true;
  if (bytes < 0) {
    give_back_foreign(own, scope, bytes == INT64_MIN ? INT64_MAX : -bytes);
  } else if (booked = !own.gated || admit(own, static_cast<std::size_t>(bytes), 0); booked) {
    {
      scope_record* const charged = current_record(own);
      const lock_guard held(scopes_lock);
      foreign_memory& here = memory_of(charged);
      here.bytes += bytes;
      ++here.blocks;
      note_above(scope, charged, bytes);
    }
    book_allocation(own, *stackless_account_cell(own).cell, nullptr, static_cast<std::size_t>(bytes));
  }
  switch_back(own, before);
  return booked;
}

void forget_foreign() {
  of_process = {};
}

}  // namespace heapledger::probe

#include "probe/hook/foreign.hpp"

#include "probe/base/lock.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/scope_gate.hpp"

namespace heapledger::probe {
namespace {

constinit foreign_memory of_process = {};

// It may go in other portions than it came: as long as some is there so is a block, and none is left with the last
// byte.
std::int64_t blocks_that_go(foreign_memory& here, std::int64_t bytes) {
  const lock_guard held(scopes_lock);
  here.bytes -= bytes;
  const std::int64_t going = here.bytes <= 0 ? here.blocks : here.blocks > 1 ? 1 : 0;
  here.blocks -= going;
  return going;
}

void book_foreign_free(books& own, foreign_memory& here, std::int64_t bytes) {
  const char nowhere = 0;
  const std::uint32_t account = stackless_account_cell(own).account;
  std::int64_t blocks = blocks_that_go(here, bytes);
  book_free(own, account, &nowhere, static_cast<std::size_t>(bytes));
  if (blocks == 0) return unbook_free(own, account, 0, nullptr);
  while (--blocks != 0) book_free(own, account, &nowhere, 0);
}

}  // namespace

bool charge_foreign(books& own, scope_handle scope, std::int64_t bytes) {
  // What goes back is credited as a block is: to the scope that has it, closed or not.
  const scope_handle before = bytes < 0 ? switch_back(own, scope) : switch_scope(own, scope);
  const bool inside = own.scopes != nullptr && own.scopes->current != nullptr;
  foreign_memory& here = inside ? own.scopes->current->of->foreign : of_process;
  bool booked = true;
  if (bytes < 0) {
    book_foreign_free(own, here, bytes == INT64_MIN ? INT64_MAX : -bytes);
  } else if (booked = !own.gated || admit(own, static_cast<std::size_t>(bytes), 0); booked) {
    {
      const lock_guard held(scopes_lock);
      here.bytes += bytes;
      ++here.blocks;
    }
    book_allocation(own, *stackless_account_cell(own).cell, nullptr, static_cast<std::size_t>(bytes));
  }
  switch_back(own, before);
  return booked;
}

}  // namespace heapledger::probe

#include "scopes_world.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "../probe_world.hpp"
#include "probe/account/errors.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/watch_view.hpp"

namespace heapledger::probe {

// No leak watch here, and no hooks.
constinit watch_view watching = {0, 0};
void heed_watch() {}
void code_came(std::uint64_t) {}

world::world() {
  begin_probe_world("interleavings");
  for (books*& each : of) {
    each = acquire_books(open_thread_record());
    thread_scopes_of(*each);
  }
  segment.header->threaded = 1;
  for (books* each : of) delta_cell_slow(*each, 1);  // makes its table, as later runs find it
  cells_made_ = segment.header->cell_count;
  string_bytes_made_ = segment.header->string_bytes;
  fewest_to_look_through = 0;  // look at each close
  slots_used = some_slots;
}

void world::begin() {
  reset_scopes();
  // What would grow from run to run: to grow takes steps.
  reset_cells();
  for (std::uint32_t i = cells_made_; i < segment.header->cell_count; ++i) segment.cells[i] = {};
  segment.header->cell_count = cells_made_;
  segment.header->string_bytes = string_bytes_made_;
  segment.header->scope_count = segment.header->account_count = 1;
  segment.header->freer_count = 1;
  for (std::size_t i = 0; i < std::size(of); ++i) {
    books& own = *of[i];
    thread_scopes* mine = own.scopes;
    mine->accounts.table.reset(true);
    // Accounts are not looked up by the stack walked last here, and few slots are used.
    __builtin_memset(static_cast<void*>(mine), 0, offsetof(thread_scopes, known));
    __builtin_memset(static_cast<void*>(mine->freers), 0, sizeof mine->freers);
    __builtin_memset(static_cast<void*>(mine->slots), 0, some_slots * sizeof *mine->slots);
    own.id = own.writer_id;
    own.gated = false;
    own.generation = own.known_generation;
    own.live = own.published = 0;
    own.publish_above = own.publish_below = 0;
    own.peak_mark = INT64_MAX;
    own.forget_recent();
    wire::thread& thread = *own.thread;
    thread.allocations = thread.allocated_bytes = thread.frees = thread.freed_bytes = 0;
    for (std::uint32_t d = 0; d < own.delta_count; ++d) own.deltas[d] = {};
    own.evictions = 0;
  }
  for (std::uint32_t i = 0; i < 64; ++i) segment.accounts[i] = {};
  segment.header->peak_bytes = segment.header->live_bytes = 0;
  scope_record* none = record_at(1);
  if (none != nullptr) throw std::runtime_error("scopes were not reset");
  close_scope(*the_world().of[0], make("first"));  // the next close looks through
}

world& the_world() {
  static world one;
  return one;
}

scope_handle enter(std::size_t thread, scope_handle to) {
  const event now(thread);
  return switch_scope(*now, to);
}
scope_handle go_back(std::size_t thread, scope_handle to) {
  const event now(thread);
  return switch_back(*now, to);
}
scope_handle current(std::size_t thread) {
  const scope_slot* at = the_world().of[thread]->scopes->current;
  return at == nullptr ? 0 : at->handle;
}
std::uint32_t allocate(std::size_t thread) {
  const event now(thread);
  const account_cell place = stackless_account_cell(*now);
  book_allocation(*now, *place.cell, nullptr, bytes);
  return place.account;
}
std::uint32_t allocate_from(std::size_t thread, std::uint32_t stack) {
  const event now(thread);
  const account_cell place = account_cell_of_node(*now, stack, stack);
  book_allocation(*now, *place.cell, nullptr, bytes);
  return place.account;
}
void give_back(std::size_t thread, std::uint32_t block) {
  const event now(thread);
  const char nowhere = 0;
  book_free(*now, block, &nowhere, bytes);
}
void give_back_in_vain(std::size_t thread, std::uint32_t block) {
  const event now(thread);
  const char nowhere = 0;
  (*now).scopes->holding = true;
  book_free(*now, block, &nowhere, bytes);
  unbook_free(*now, block, bytes, nullptr);
  (*now).scopes->holding = false;
}
void close(std::size_t thread, scope_handle which) {
  const event now(thread);
  close_scope(*now, which);
}
scope_handle open(std::size_t thread, scope_handle parent, std::string_view name, const scope_budget& budget) {
  const event now(thread);
  return open_scope(*now, name.data(), name.size(), parent, budget);
}
scope_handle make(std::string_view name, scope_handle parent, const scope_budget& budget) {
  return open_scope(*the_world().of[0], name.data(), name.size(), parent, budget);
}
bool alive(scope_handle handle) {
  return names(handle, __atomic_load_n(&record_at(index_of(handle))->life, __ATOMIC_RELAXED));
}
std::uint32_t allocate_if_admitted(std::size_t thread, std::size_t size) {
  const event now(thread);
  const bool covered = leases_cover(*now, size);
  if (!covered) {
    settle(*now);
    obstacle met{};
    const admission result = ask(*now, size, {}, {}, met);
    settle_scope(*now);
    if (result != admission::granted) return 0;
  }
  const account_cell place = stackless_account_cell(*now);
  book_allocation(*now, *place.cell, nullptr, size);
  if (!covered) settle_scope(*now);
  return place.account;
}

void explore(const model::scenario& of, std::uint64_t at_least) {
  const char* more = std::getenv("HEAPLEDGER_SWITCHES");
  const model::exploration found = model::explore(of, more != nullptr ? static_cast<unsigned>(std::atoi(more)) : 2);
  EXPECT_EQ(found.failure, "");
  EXPECT_GE(found.runs, at_least);
  ::testing::Test::RecordProperty("runs", std::to_string(found.runs));
  std::printf("%llu runs\n", static_cast<unsigned long long>(found.runs));
}

}  // namespace heapledger::probe

// The scopes, books and threads of a scenario, as they are before each run, and what a thread does with them in one
// step of the program: all of it the probe's own code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "explorer.hpp"
#include "probe/account/cells.hpp"
#include "probe/hook/process.hpp"
#include "probe/scope/budget.hpp"
#include "probe/scope/slots.hpp"
#include "probe/scope/usage.hpp"

namespace heapledger::probe {

inline constexpr std::size_t bytes = 10;
inline constexpr std::uint32_t some_slots = 8;
inline constexpr scope_budget no_budget{{no_limit, no_limit, no_limit}, 0, false};
inline constexpr std::int64_t limit = 1000;
inline constexpr scope_budget limited_budget{{limit, no_limit, no_limit}, 0, true};

// Books for each thread of a scenario, made once.
class world {
 public:
  world();
  void begin();  // as if nothing had happened
  void watch(std::size_t threads) {
    for (std::size_t i = 0; i < threads; ++i) {
      const thread_scopes& each = *of[i]->scopes;
      model::watch(i, {&each.current_index, &each.crediting_index, &each.folding_index, &each.looking_index},
                   &each.sequence);
    }
  }

  books* of[3];

 private:
  std::uint32_t cells_made_ = 0, string_bytes_made_ = 0;
};
world& the_world();

// One event of a thread.
class event {
 public:
  explicit event(std::size_t thread) : own_(*the_world().of[thread]) {
    model::flush_own();
    take(&own_, &own_);
  }
  ~event() {
    model::flush_own();
    give(&own_, own_.known_generation);
  }
  event(const event&) = delete;
  event& operator=(const event&) = delete;
  books& operator*() const { return own_; }

 private:
  books& own_;
};

// By a thread that does nothing else.
inline bool usage_of(scope_handle handle, bool alone, scope_usage& out) {
  return usage_of(*the_world().of[2], handle, alone, out);
}

scope_handle enter(std::size_t thread, scope_handle to);
scope_handle go_back(std::size_t thread, scope_handle to);
scope_handle current(std::size_t thread);
std::uint32_t allocate(std::size_t thread);  // the block is its account
std::uint32_t allocate_from(std::size_t thread, std::uint32_t stack);
void give_back(std::size_t thread, std::uint32_t block);
void give_back_in_vain(std::size_t thread, std::uint32_t block);  // as a realloc that fails
// Before the threads begin, and after they ended.
scope_handle make(std::string_view name, scope_handle parent = 0, const scope_budget& budget = no_budget);
void close(std::size_t thread, scope_handle which);
scope_handle open(std::size_t thread, scope_handle parent, std::string_view name = "scope",
                  const scope_budget& budget = no_budget);
bool alive(scope_handle handle);
// As the hooks do it: within the thread's leases, or asked for. 0 where it is refused.
std::uint32_t allocate_if_admitted(std::size_t thread, std::size_t size);

// Every order with at most two switches that nothing forces, or HEAPLEDGER_SWITCHES.
void explore(const model::scenario& of, std::uint64_t at_least);

}  // namespace heapledger::probe

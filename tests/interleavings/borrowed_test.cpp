// Books of a handler that interrupts events: they are in the scope that the interrupted ones are in, and stay there
// when the handler has returned, while the scope ends and its record becomes another's.
#include <gtest/gtest.h>

#include "../probe_world.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/scope/slots.hpp"
#include "probe/scope/usage.hpp"

namespace heapledger::probe {

// No leak watch here, and no hooks.
constinit watch_view watching = {0, 0};
void heed_watch() {}
void code_came(std::uint64_t) {}

namespace {

constexpr scope_budget no_budget{{no_limit, no_limit, no_limit}, 0, false};

class event {
 public:
  explicit event(books& own) : own_(own) { take(&own_, &own_); }
  ~event() { give(&own_, own_.known_generation); }
  event(const event&) = delete;
  event& operator=(const event&) = delete;

 private:
  books& own_;
};

// A thread and a handler that interrupts events of it.
class world {
 public:
  world() {
    fewest_to_look_through = 0;  // look at each close
    begin_probe_world("borrowed");
    for (books** each : {&thread, &handler}) *each = acquire_books(open_thread_record());
  }
  void enter(scope_handle to) const {
    const event now(*thread);
    switch_scope(*thread, to);
  }
  // One event of a handler; each of the interrupted thread's is another.
  template <class F>
  void handle(F does) const {
    const event interrupted(*thread);
    const account_cell place = stackless_account_cell(*thread);
    book_allocation(*thread, *place.cell, this, 0);
    book_free(*thread, place.account, this, 0);
    handle_more(does);
  }
  template <class F>
  void handle_more(F does) const {
    const event handlers(*handler);
    borrow_scope(*handler, *thread);
    does();
  }
  void enter_in_handler(scope_handle to) const {
    switch_back(*handler, to);
    entered_by_itself(*handler);
  }
  scope_handle handlers_scope() const {
    const scope_slot* at = handler->scopes->current;
    return at == nullptr ? 0 : at->handle;
  }

  books *thread, *handler;
};

TEST(interleavings, a_handlers_books_leave_no_peak_to_the_next_scope) {
  const world w;
  const scope_handle first = open_scope(*w.thread, "first", 5, 0, no_budget);
  w.enter(first);
  constexpr std::size_t bytes = 1000;
  std::uint32_t block = 0;
  {
    const event interrupted(*w.thread);
    w.handle_more([&] {
      const account_cell place = stackless_account_cell(*w.handler);
      book_allocation(*w.handler, *place.cell, nullptr, bytes);
      settle_scope(*w.handler);
      block = place.account;
    });
  }
  scope_usage used{};
  ASSERT_TRUE(usage_of(*w.thread, first, true, used));
  EXPECT_EQ(used.peak_bytes, bytes);
  {
    const event now(*w.thread);
    const char nowhere = 0;
    book_free(*w.thread, block, &nowhere, bytes);
  }
  w.enter(0);
  close_scope(*w.thread, first);
  const scope_handle second = open_scope(*w.thread, "first", 5, 0, no_budget);
  ASSERT_EQ(index_of(first), index_of(second));
  w.enter(second);
  w.handle([&] { EXPECT_EQ(w.handlers_scope(), second); });
  ASSERT_TRUE(usage_of(*w.thread, second, true, used));
  EXPECT_EQ(used.peak_bytes, 0);
}

TEST(interleavings, a_handler_that_entered_a_scope_itself_leaves_nothing_to_the_next_handler) {
  const world w;
  const scope_handle first = open_scope(*w.thread, "first", 5, 0, no_budget),
                     second = open_scope(*w.thread, "second", 6, 0, no_budget),
                     own = open_scope(*w.thread, "own", 3, 0, no_budget);
  w.enter(first);
  w.handle([&] {
    w.enter_in_handler(own);
    w.handle_more([&] { EXPECT_EQ(w.handlers_scope(), own); });
    w.enter_in_handler(first);
    w.handle_more([&] { EXPECT_EQ(w.handlers_scope(), first); });
  });
  w.enter(second);
  close_scope(*w.thread, first);
  EXPECT_FALSE(names(first, load_life(*record_at(index_of(first))))) << "kept by books of a handler that returned";
  w.handle([&] {
    EXPECT_EQ(w.handlers_scope(), second);
    w.enter_in_handler(0);
    w.handle_more([&] { EXPECT_EQ(w.handlers_scope(), 0u) << "the handler left all scopes"; });
  });
  w.handle([&] { EXPECT_EQ(w.handlers_scope(), second); });
}

}  // namespace
}  // namespace heapledger::probe

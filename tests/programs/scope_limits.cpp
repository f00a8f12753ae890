// Where limits and nesting end; each case checks itself. Argument: CASE.
#include <pthread.h>
#include <sys/mman.h>
#include <heapledger/expect.hpp>

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::budget;
using heapledger::enter;
using heapledger::run_in;
using heapledger::scope;
using heapledger::usage;
using test::failing;
using test::take;

namespace {

constexpr unsigned deepest = 256;  // on one thread

void* resized(void* block, std::size_t bytes) {
  void* const moved = realloc(block, bytes);
  test::escape(moved);
  return moved;
}

// While a realloc is asked for, and refused, its old block is in use.
void refused_resize(unsigned rounds, unsigned part) {
  scope request("request", failing(10 * part));
  void* const large = run_in(request, [=] { return take(6 * part); });
  void* const small = run_in(request, [=] { return take(3 * part); });
  std::atomic<bool> done{false};
  std::thread other([&] {
    const enter in(request);
    while (!done) CHECK(take(5 * part) == nullptr);
  });
  {
    const enter in(request);
    for (unsigned i = 0; i < rounds; ++i) CHECK(resized(large, 10 * part) == nullptr);
  }
  done = true;
  other.join();
  free(large);
  free(small);
  CHECK(request.used().peak_bytes == 9 * part);
}

// What was let through is over the limit: nobody is lent what comes back before there is room again.
void past_the_limit(unsigned, unsigned) {
  const scope request("request", failing(100'000));
  std::promise<void> passed, started;
  std::thread other([&] {
    const enter in(request);
    void* const kept = take(1'000);
    started.set_value();
    passed.get_future().wait();
    free(kept);
    CHECK(!take(900));
  });
  started.get_future().wait();
  const enter in(request);
  void *const first = take(50'000), *const second = take(5'000);
  void* third;
  {
    const heapledger::must_not_fail now;
    third = take(60'000);
  }
  passed.set_value();
  other.join();
  free(second);
  CHECK(first && third && !take(4'000));
  third = resized(third, 58'000);
  CHECK(third && !take(1'000));
  CHECK(request.used().live_bytes == 108'000);
  free(first);
  CHECK(take(1'000));
}

// Nor has a reaction what is about to be replaced, or moved.
void reaction_in_resize(unsigned, unsigned) {
  scope request("request", failing(1000));
  void* more = nullptr;
  std::int64_t told = 0;
  const std::stop_callback stopped(request.stop_token(), [&] {
    told = request.used().live_bytes;
    more = run_in(request, [] { return take(500); });
  });
  void* const block = run_in(request, [] { return take(600); });
  CHECK(run_in(request, [block] { return resized(block, 1100); }) == nullptr);
  CHECK(told == 600 && more == nullptr && request.used().live_bytes == 600);
  free(block);

  scope full("full", failing(1000)), tight("tight", failing(500));
  const std::stop_callback also(tight.stop_token(), [&] { more = run_in(full, [] { return take(500); }); });
  void* const moving = run_in(full, [] { return take(1000); });
  CHECK(!heapledger::transfer(moving, tight) && more == nullptr && full.used().live_bytes == 1000);
  free(moving);
}

// The old block's bytes count for those who have them: the scope, what is above both, nobody else.
void resized_at_the_limit(unsigned, unsigned) {
  scope server("server", failing(2000)), request("request", failing(1000), server), other("other", {}, server);
  void* block = run_in(request, [] { return take(1000); });
  CHECK(run_in(request, [&] { return block = resized(block, 900); }) && request.used().live_bytes == 900);
  CHECK(run_in(request, [&] { return block = resized(block, 1000); }) && request.used().live_bytes == 1000);
  void* const rest = run_in(other, [] { return take(1000); });
  CHECK(rest && run_in(other, [&] { return block = resized(block, 1000); }));
  CHECK(request.used().live_bytes == 0 && other.used().live_bytes == 2000);
  CHECK(run_in(other, [&] { return resized(block, 1001); }) == nullptr);
  void* volatile none = run_in(other, [&] { return realloc(block, 0); });
  CHECK(none == nullptr && other.used().live_bytes == 1000);
  free(rest);

  scope few("few", {.allocations = 1, .action = heapledger::on_exceed::fail});
  block = run_in(few, [] { return take(100); });
  none = run_in(few, [&] { return realloc(block, 0); });
  CHECK(none == nullptr && few.used().live_blocks == 0 && !few.exceeded());
}

void transfer_of_nothing(unsigned, unsigned) {
  scope to("to");
  const std::size_t page = 4096;
  auto* const pages = static_cast<char*>(mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(pages != MAP_FAILED && munmap(pages, page) == 0 && munmap(pages + 2 * page, page) == 0);
  CHECK(!heapledger::transfer(pages + page, to) && !heapledger::transfer(pages, to));
  void* volatile freed = take(1 << 20);
  free(freed);
  CHECK(!heapledger::transfer(freed, to) && to.used() == usage{});
}

// A limit is not lost behind budgets that only ask to stop.
void many_soft_budgets(unsigned, unsigned) {
  scope server("server", failing(1000));
  std::vector<scope> all = {server};
  for (unsigned i = 0; i < 200; ++i) all.emplace_back("soft", budget{.live_bytes = 10}, all.back());
  CHECK(run_in(all.back(), [] { return take(5000); }) == nullptr);
  CHECK(server.exceeded() && all[7].exceeded() && server.used().live_bytes == 0);
}

std::vector<scope> chain(unsigned levels, scope below) {
  std::vector<scope> all = {below};
  while (all.size() < levels) all.emplace_back("level", budget{}, all.back());
  return all;
}

// What is nested deeper than a thread can be in is charged to the scope above; limits hold.
void nested_too_deep(unsigned, unsigned) {
  scope server("server", failing(1000)), other("other", failing(1000));
  const auto all = chain(deepest + 44, server), more = chain(deepest, other);
  const enter in(all.back());
  CHECK(scope::current() == all[deepest - 1] && take(1001) == nullptr);
  void* const block = take(1000);
  CHECK(block && server.used().live_bytes == 1000 && all[deepest - 1].used_alone().live_bytes == 1000);
  {
    const enter there(more.back());
    CHECK(scope::current() == more.back() && take(1001) == nullptr);
  }
  CHECK(scope::current() == all[deepest - 1] && take(1) == nullptr);
  free(block);
  const enter deep(all[deepest - 1]);
  CHECK(!heapledger::measure([] { free(take(100)); }).measured);
}

// However deep, on a thread's small stack.
void deep_on_a_small_stack(unsigned levels, unsigned) {
  static std::vector<scope> all;
  all = chain(levels, scope("server", failing(1000)));
  pthread_attr_t attributes;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstacksize(&attributes, 64 * 1024) == 0);
  pthread_t thread;
  const auto work = [](void*) -> void* {
    const enter in(all.back());
    void* const block = take(1000);
    CHECK(block && take(1) == nullptr && all.front().used().live_bytes == 1000);
    free(block);
    return nullptr;
  };
  CHECK(pthread_create(&thread, &attributes, work, nullptr) == 0 && pthread_join(thread, nullptr) == 0);
  CHECK(all.front().used().live_bytes == 0);
  for (auto each = all.rbegin(); each != all.rend(); ++each) each->close();
}

void look_through_closed() {
  for (unsigned i = 0; i < 3000; ++i) scope("other").close();
}

// Memory by hand comes and goes in portions of any size.
void foreign_in_portions(unsigned, unsigned) {
  scope server("server");
  for (const auto& portions : {std::vector<std::int64_t>{100, -50, -50}, {50, 50, -100}, {100, -50, 50, -60, -40}}) {
    scope request("request", {}, server);
    for (const auto bytes : portions) CHECK(heapledger::add_foreign(request, bytes));
    void* const block = run_in(request, [] { return take(0); });
    request.close();
    look_through_closed();
    CHECK(request.state() == heapledger::scope_state::closed);
    free(block);
    look_through_closed();
    CHECK(request.state() == heapledger::scope_state::gone);
  }
  CHECK(server.used().live_bytes == 0 && server.used().live_blocks == 0);
}

// A threshold of a scope that has children already; and again, when live bytes were lower meanwhile.
void threshold_above(unsigned, unsigned) {
  scope server("server"), request("request", {}, server);
  static int crossed;
  crossed = 0;
  int user;
  heapledger_scope_attach_as(
      server.handle(), 7, &user, [](void*, const heapledger_notice*) { ++crossed; }, nullptr);
  CHECK(heapledger_scope_threshold(server.handle(), 1000) == 0);
  scope later("later", {}, server);
  for (const scope& each : {request, later, request}) run_in(each, [] { free(take(2000)); });
  CHECK(crossed == 3);
  void* const block = run_in(later, [] { return take(950); });
  for (int i = 0; i < 10; ++i) run_in(request, [] { free(take(60)); });
  CHECK(crossed == 4);
  free(block);
}

// What hangs on a scope goes with it: outside of all scopes, and never while others wait for who takes it away.
void what_hung_on_it(unsigned, unsigned) {
  struct last_will {
    ~last_will() { free(take(5000)); }
  };
  {
    scope old("old", {.live_bytes = 1000});
    CHECK(old.at_fraction(0.5, [will = std::make_shared<last_will>()](scope, usage) {}));
    old.close();
  }
  scope request("request", failing(2000));
  run_in(request, look_through_closed);
  CHECK(request.used() == usage{} && !request.exceeded());

  std::mutex connections;
  std::atomic<int> step{0};
  scope server("server", {.live_bytes = 1 << 20}), ended("ended", {.live_bytes = 1000}, server);
  const std::stop_callback stopped(ended.stop_token(), [&] {
    step = 1;
    while (step != 2) std::this_thread::yield();
    const std::lock_guard held(connections);
  });
  ended.close();
  std::thread shuts_down([&] { server.request_stop(); });
  while (step != 1) std::this_thread::yield();
  {
    const std::lock_guard held(connections);
    step = 2;
    look_through_closed();
  }
  shuts_down.join();
  CHECK(ended.state() == heapledger::scope_state::gone);
}

constexpr test::test_case cases[] = {
    {"refused_resize", refused_resize, 20'000, 100},
    {"refused_resize_of_large", refused_resize, 500, 1 << 20},
    {"reaction_in_resize", reaction_in_resize},
    {"resized_at_the_limit", resized_at_the_limit},
    {"past_the_limit", past_the_limit},
    {"transfer_of_nothing", transfer_of_nothing},
    {"many_soft_budgets", many_soft_budgets},
    {"nested_too_deep", nested_too_deep},
    {"deep_on_a_small_stack", deep_on_a_small_stack, 10'000},
    {"foreign_in_portions", foreign_in_portions},
    {"threshold_above", threshold_above},
    {"what_hung_on_it", what_hung_on_it},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}

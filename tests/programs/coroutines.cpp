// Scopes that follow coroutines; each case checks itself. Argument: CASE.
#include <array>
#include <heapledger/coroutine.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::scope;
using heapledger::usage;
using test::take;

namespace {

// Starts when it is resumed for the first time; yields ints.
struct task {
  struct promise_type : heapledger::scoped_promise {
    int value = 0;
    std::exception_ptr error;
    task get_return_object() { return task{std::coroutine_handle<promise_type>::from_promise(*this)}; }
    auto initial_suspend() { return follow(std::suspend_always{}); }
    auto final_suspend() noexcept { return leave(std::suspend_always{}); }
    auto yield_value(int v) {
      value = v;
      return follow(std::suspend_always{});
    }
    void return_void() {}
    void unhandled_exception() { error = std::current_exception(); }
  };

  explicit task(std::coroutine_handle<promise_type> of) : coroutine(of) {}
  task(task&& other) noexcept : coroutine(std::exchange(other.coroutine, nullptr)) {}
  ~task() {
    if (coroutine) coroutine.destroy();
  }
  void resume_in_thread() const {
    std::thread([&] { coroutine.resume(); }).join();
  }

  std::coroutine_handle<promise_type> coroutine;
};

// Goes on in a thread of its own.
struct hop {
  std::thread& on;
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) {
    std::thread& here = on;  // this object is gone as soon as the coroutine goes on
    here = std::thread(coroutine);
  }
  void await_resume() {}
};
struct stays {
  bool suspends;
  bool await_ready() { return false; }
  bool await_suspend(std::coroutine_handle<>) {
    if (suspends) throw std::runtime_error("not now");
    return false;
  }
  int await_resume() { return 7; }
};

task work(scope own, std::array<void*, 4>& blocks) {
  CHECK(scope::current() == own);
  blocks[0] = take(100);
  co_await std::suspend_always{};
  CHECK(scope::current() == own);
  blocks[1] = take(200);
  co_yield 5;
  CHECK(scope::current() == own);
  CHECK(co_await stays{false} == 7);
  CHECK(scope::current() == own);
  bool thrown = false;
  try {
    co_await stays{true};
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown && scope::current() == own);
  blocks[2] = take(400);
}

void resumed(unsigned, unsigned) {
  const scope own("own"), other("other");
  std::array<void*, 4> blocks{};
  std::optional<task> of;
  {
    const enter in(own);
    of.emplace(work(own, blocks));
  }
  const usage frame = own.used();  // the coroutine's frame is charged to its caller
  CHECK(frame.allocations == 1);
  {
    const enter in(other);
    of->coroutine.resume();
    CHECK(scope::current() == other);
  }
  of->resume_in_thread();
  CHECK(of->coroutine.promise().value == 5 && scope::current() == scope::process());
  of->coroutine.resume();
  CHECK(of->coroutine.done() && scope::current() == scope::process());
  CHECK(own.used().live_bytes == frame.live_bytes + 700);
  CHECK(other.used().allocations == 0);
  for (void* block : blocks) free(block);
  of.reset();
  CHECK(own.used().live_bytes == 0);
}

void destroyed(unsigned, unsigned) {
  const scope own("own");
  std::array<void*, 4> blocks{};
  for (int resumes = 0; resumes < 3; ++resumes) {
    {
      const enter in(own);
      const task never_ends = work(own, blocks);
      const enter outside(scope::process());
      for (int i = 0; i < resumes; ++i) never_ends.coroutine.resume();
      CHECK(scope::current() == scope::process());
    }
    for (void*& block : blocks) {
      free(block);
      block = nullptr;
    }
  }
  CHECK(own.used().live_bytes == 0);
}

task hops(scope own, std::vector<std::thread>& threads, std::vector<void*>& blocks) {
  for (std::size_t i = 0; i < threads.size(); ++i) {
    blocks[i] = take(10);
    CHECK(scope::current() == own);
    co_await hop{threads[i]};
  }
  throw std::logic_error("ends by an exception");
}

void hopping(unsigned count, unsigned) {
  const scope own("own");
  std::vector<std::thread> threads(count);
  std::vector<void*> blocks(count);
  {
    std::optional<task> of;
    {
      const enter in(own);
      of.emplace(hops(own, threads, blocks));
    }
    of->coroutine.resume();
    CHECK(scope::current() == scope::process());
    for (auto& each : threads) each.join();
    CHECK(of->coroutine.done() && of->coroutine.promise().error != nullptr);
  }
  CHECK(own.used().live_bytes >= 10 * count);
  for (void* block : blocks) free(block);
}

// An awaiter that knows whether it still lives.
struct lives {
  volatile int value;
  explicit lives(int of) : value(of) {}
  lives(const lives& other) : value(other.value) {}
  ~lives() { value = 0; }
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<>) { CHECK(value == 7); }
  int await_resume() { return value; }
};
// One whose awaiter is another object, which refers to it.
struct refers {
  lives of{7};
  struct awaiter {
    lives& to;
    bool await_ready() { return false; }
    void await_suspend(std::coroutine_handle<>) { CHECK(to.value == 7); }
    int await_resume() { return to.value; }
  };
  awaiter operator co_await() { return {of}; }
};

// Exceptions leave it, and what it suspends by is made where it is asked for.
struct generator {
  struct promise_type : heapledger::scoped_promise {
    generator get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    auto initial_suspend() { return follow(lives{7}); }
    auto final_suspend() noexcept { return leave(std::suspend_always{}); }
    auto yield_value(int v) { return follow(lives{v}); }
    auto yield_value(refers&& from) { return follow(std::move(from)); }
    auto await_transform(int v) {
      lives local{v};
      return follow(std::move(local));
    }
    void return_void() {}
    [[noreturn]] void unhandled_exception() { rethrow(); }
  };
  std::coroutine_handle<promise_type> coroutine;
};

generator yields() {
  CHECK((co_yield 7) == 7);
  CHECK((co_yield refers{}) == 7);
  CHECK((co_await 7) == 7);
  throw std::runtime_error("ends by an exception");
}

void kept(unsigned, unsigned) {
  const scope own("own");
  const generator of = heapledger::run_in(own, [] { return yields(); });
  for (int i = 0; i < 3; ++i) of.coroutine.resume();
  bool thrown = false;
  try {
    of.coroutine.resume();
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown && scope::current() == scope::process() && of.coroutine.done());
  of.coroutine.destroy();
  CHECK(own.used().live_bytes == 0);
}

// Does not begin: its first awaiter throws, in its caller.
struct refused {
  struct promise_type : heapledger::scoped_promise {
    explicit promise_type(scope in) { set_scope(in); }
    refused get_return_object() { return {}; }
    auto initial_suspend() { return follow(stays{true}); }
    auto final_suspend() noexcept { return leave(std::suspend_never{}); }
    void return_void() {}
    void unhandled_exception() {}
  };
};
refused never_begins(scope) {
  co_return;
}

void not_begun(unsigned, unsigned) {
  bool thrown = false;
  try {
    never_begins(scope("own"));
  } catch (const std::runtime_error&) {
    thrown = true;
  }
  CHECK(thrown && scope::current() == scope::process());
}

task guarded(scope own, scope cache, scope other) {
  {
    const enter in(cache);
    co_await std::suspend_always{};
    CHECK(scope::current() == cache);
    co_await std::suspend_always{};
    CHECK(scope::current() == cache);
  }
  CHECK(scope::current() == own);
  co_await std::suspend_always{};
  CHECK(scope::current() == other);
}

// A guard in a coroutine holds over co_await, in whatever thread it goes on; set_scope() counts from the next
// resumption.
void guards(unsigned, unsigned) {
  const scope own("own"), cache("cache"), other("other");
  const task of = heapledger::run_in(own, [&] { return guarded(own, cache, other); });
  of.coroutine.resume();
  CHECK(scope::current() == scope::process());
  of.resume_in_thread();
  heapledger::run_in(other, [&] {
    of.coroutine.resume();
    CHECK(scope::current() == other);
  });
  of.coroutine.promise().set_scope(other);
  of.resume_in_thread();
  CHECK(of.coroutine.done());
}

// Says where it ends.
struct ends_in {
  scope expected;
  int& ended;
  ~ends_in() {
    CHECK(scope::current() == expected);
    ++ended;
  }
};

task keeps_guards(scope own, scope cache, int& ended) {
  const ends_in first{own, ended};
  for (;;) {
    heapledger::owned_scope request("request", {}, own);
    const enter inside(request);
    const ends_in second{request, ended};
    {
      const enter in_cache(cache);
      const ends_in third{cache, ended};
      co_await std::suspend_always{};
    }
    co_yield 1;
  }
}

task ends_another(task, int& ended) {
  const ends_in last{scope::current(), ended};
  co_await std::suspend_always{};
}

// Whoever destroys a suspended coroutine stays where it was, whatever guards are in it.
void destroyed_in_guards(unsigned, unsigned) {
  const scope own("own"), cache("cache"), other("other");
  int ended = 0;
  const auto suspended = [&](int resumes) {
    std::optional<task> of(heapledger::run_in(own, [&] { return keeps_guards(own, cache, ended); }));
    for (int i = 0; i < resumes; ++i) of->coroutine.resume();
    return of;
  };
  for (int resumes = 0; resumes < 5; ++resumes) {
    const int ends = resumes == 0 ? 0 : resumes % 2 == 1 ? 3 : 2;
    auto here = suspended(resumes), elsewhere = suspended(resumes), in_scope = suspended(resumes);
    ended = 0;
    here.reset();
    CHECK(scope::current() == scope::process() && ended == ends);
    std::thread([&] {
      const enter in(other);
      elsewhere.reset();
      CHECK(scope::current() == other && ended == 2 * ends);
    }).join();
    {
      const enter in(cache);
      in_scope.reset();
      CHECK(scope::current() == cache && ended == 3 * ends);
    }
    CHECK(scope::current() == scope::process());
    // while an exception is under way, and by another coroutine that is destroyed
    auto unwound = suspended(resumes), nested = suspended(resumes);
    ended = 0;
    try {
      const enter in(other);
      const std::optional<task> mine = std::move(unwound);
      throw 1;
    } catch (int) {
    }
    CHECK(scope::current() == scope::process() && ended == ends);
    {
      const task outer = heapledger::run_in(other, [&] { return ends_another(*std::move(nested), ended); });
      outer.coroutine.resume();
    }
    CHECK(scope::current() == scope::process() && ended == 2 * ends + 1);
  }
  CHECK(own.used().live_bytes == 0 && other.used().live_bytes == 0);
}

// It is destroyed by what it waits for.
struct destroys {
  bool await_ready() { return false; }
  void await_suspend(std::coroutine_handle<> coroutine) { coroutine.destroy(); }
  void await_resume() {}
};
task destroys_itself(scope cache) {
  const enter inside(cache);
  co_await destroys{};
}

void destroyed_by_itself(unsigned, unsigned) {
  const scope own("own"), cache("cache"), other("other");
  task of = heapledger::run_in(own, [&] { return destroys_itself(cache); });
  const enter in(other);
  std::exchange(of.coroutine, nullptr).resume();
  CHECK(scope::current() == other && own.used().live_bytes == 0);
}

constexpr test::test_case cases[] = {
    {"resumed", resumed},
    {"destroyed", destroyed},
    {"hopping", hopping, 50},
    {"kept", kept},
    {"not_begun", not_begun},
    {"guards", guards},
    {"destroyed_in_guards", destroyed_in_guards},
    {"destroyed_by_itself", destroyed_by_itself},
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}

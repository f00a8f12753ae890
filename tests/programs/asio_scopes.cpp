// Scopes on Asio, by the executor adaptor and by the tracking hook; each case checks itself. Argument: CASE. Compiled
// for Asio and for Boost.Asio, with the hook (TRACKED) and without.
#ifdef BOOST
#include <utility>  // which Boost 1.74 forgets
//
#include <boost/asio.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>
namespace asio = boost::asio;
#else
#include <asio.hpp>
#endif
#include <atomic>
#include <heapledger/asio.hpp>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::scope;
using test::take;

namespace {

unsigned thread_count = 0;

// Each handler in a thread of its own, which is in some scope, and afterwards again.
void run_each_elsewhere(asio::io_context& io) {
  const scope elsewhere("elsewhere");
  for (std::size_t ran = 1; ran != 0;)
    std::thread([&] {
      ++thread_count;
      const enter inside(elsewhere);
      ran = io.run_one();
      CHECK(scope::current() == elsewhere);
    }).join();
}

// What is handed to the executor, directly, through a strand, or as a handler's own, runs in the scope.
void executor(unsigned, unsigned) {
  const scope a("a"), b("b");
  std::atomic<unsigned> right{0};
  {
    asio::io_context io;
    const auto in_a = heapledger::scoped(io.get_executor(), a);
    static_assert(asio::execution::is_executor<std::decay_t<decltype(in_a)>>::value);
    const asio::any_io_executor erased = in_a;
    const auto strand = heapledger::scoped(asio::make_strand(io), b);
    asio::steady_timer timer(io, std::chrono::microseconds(1));
    const auto expect = [&](const scope& where) {
      return [&right, where] {
        if (scope::current() == where) ++right;
        test::escape(take(10));
      };
    };
    for (int i = 0; i < 100; ++i) {
      asio::post(in_a, expect(a));
      asio::dispatch(erased, expect(a));
      asio::defer(strand, expect(b));
    }
    timer.async_wait(asio::bind_executor(erased, [in = expect(a)](auto) { in(); }));
    asio::post(asio::require(in_a, asio::execution::blocking.never), expect(a));
    run_each_elsewhere(io);
  }
  CHECK(right == 302);
  CHECK(scope::current() == scope::process());
  CHECK(a.used().live_bytes >= 2020 && b.used().live_bytes >= 1000);
}

asio::awaitable<void> hop(scope in, std::atomic<unsigned>& right, std::atomic<unsigned>& hops) {
  std::vector<char> data(5000);
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < 50; ++i) {
    const unsigned before = thread_count;
    if (i % 2 == 0) {
      co_await asio::post(co_await asio::this_coro::executor, asio::use_awaitable);
    } else {
      timer.expires_after(std::chrono::microseconds(1));
      co_await timer.async_wait(asio::use_awaitable);
    }
    hops += before != thread_count;
    right += scope::current() == in;
    data.resize(data.size() + 1000);
  }
}

void coroutine(unsigned, unsigned) {
  const scope s("coroutine");
  std::atomic<unsigned> right{0}, hops{0};
  {
    asio::io_context io;
    for (int i = 0; i < 20; ++i)
      heapledger::spawn_in(s, heapledger::scoped(io.get_executor(), s), hop(s, right, hops), asio::detached);
    CHECK(scope::current() == scope::process());
    run_each_elsewhere(io);
  }
  CHECK(right == 1000 && hops == 1000);
  CHECK(s.used().live_bytes == 0 && s.used().allocated_bytes > 20 * 55000);
}

#if defined(ASIO_VERSION) && ASIO_VERSION >= 102200
// What bind() makes of a handler goes where the handler goes.
void bound_handlers(unsigned, unsigned) {
  const scope a("a");
  asio::io_context io;
  auto strand = asio::make_strand(io);
  unsigned right = 0;
  asio::post(io, heapledger::bind(a, asio::bind_executor(strand, [&] {
                                    right += scope::current() == a && strand.running_in_this_thread();
                                  })));
  asio::steady_timer timer(io, std::chrono::microseconds(1));
  timer.async_wait(heapledger::bind(a, asio::bind_executor(strand, [&](auto) {
                                      right += scope::current() == a && strand.running_in_this_thread();
                                    })));
  asio::post(io, heapledger::bind(a, [&] { right += scope::current() == a && !strand.running_in_this_thread(); }));
  run_each_elsewhere(io);
  CHECK(right == 3);
}
#endif

#ifdef TRACKED
// Nothing says so: handlers and coroutines run where they were begun, and a thread is then where it was.
void tracked(unsigned, unsigned) {
  const scope a("a"), b("b");
  std::atomic<unsigned> right{0}, hops{0};
  {
    asio::io_context io;
    auto strand = asio::make_strand(io);
    asio::steady_timer timer(io, std::chrono::microseconds(1));
    for (int i = 0; i < 100; ++i) {
      const scope in = i % 2 == 0 ? a : b;
      const enter inside(in);
      asio::post(io, [&, in] { right += scope::current() == in; });
      asio::post(strand, [&, in] {
        right += scope::current() == in;
        asio::dispatch(io, [&, in] { right += scope::current() == in; });
      });
      timer.async_wait([&, in](auto) { right += scope::current() == in; });
      if (i < 20) asio::co_spawn(io, hop(in, right, hops), asio::detached);
    }
    run_each_elsewhere(io);
    // Handlers that are never called, too.
    const enter inside(a);
    asio::post(io, [] {});
  }
  CHECK(right == 1400 && hops == 1000);
  CHECK(a.used().live_bytes == 0 && b.used().live_bytes == 0);
}
#endif

constexpr test::test_case cases[] = {
    {"executor", executor},
    {"coroutine", coroutine},
#if defined(ASIO_VERSION) && ASIO_VERSION >= 102200
    {"bound_handlers", bound_handlers},
#endif
#ifdef TRACKED
    {"tracked", tracked},
#endif
};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}

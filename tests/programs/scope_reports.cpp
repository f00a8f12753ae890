// Reports at intervals; each case checks itself. Argument: CASE.
#include <signal.h>
#include <sys/wait.h>
#include <atomic>
#include <chrono>
#include <heapledger/periodic.hpp>
#include <latch>
#include <string>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::enter;
using heapledger::report_schedule;
using heapledger::scope;
using heapledger::usage;
using test::take;
using namespace std::chrono_literals;

namespace {

void recycle_what_can_be() {
  for (int i = 0; i < 3000; ++i) {
    const heapledger::owned_scope other("other");
    const enter in(other);
    free(take(8));
  }
}

// Ends after what report_every() keeps, which is made later: asks for a report then, as a static server or a thread
// that goes on may.
struct ends_last {
  const void* reporter = nullptr;
  ~ends_last() {
    if (reporter == nullptr) return;
    for (int i = 0; i < 8; ++i)  // where it was freed, one of these has its place
      CHECK(::operator new(sizeof(heapledger::detail::report_thread)) != reporter);
    heapledger::report_every(scope("last"), 1ms, [](scope, usage) {});
  }
};
ends_last static_object;

// By a clock of our own.
void schedule(unsigned, unsigned) {
  const report_schedule::clock::time_point start{};
  report_schedule reports;
  CHECK(reports.run(start) == report_schedule::clock::time_point::max());
  scope query("query"), other("other query");
  std::vector<usage> seen, seen_other;
  reports.add(
      query, 10s,
      [&](scope which, usage u) {
        CHECK(which == query && scope::current() == scope::process());
        seen.push_back(u);
      },
      start);
  reports.add(
      other, 25s, [&](scope, usage u) { seen_other.push_back(u); }, start);
  CHECK(reports.run(start + 9s) == start + 10s && seen.empty());
  void *a, *b;
  {
    const enter in(query);
    a = take(100);
    b = take(50);
    CHECK(reports.run(start + 10s) == start + 20s);
    CHECK(scope::current() == query);
  }
  CHECK(seen.size() == 1 && seen[0].live_bytes == 150 && seen[0].live_blocks == 2 && seen_other.empty());
  query.close();
  free(a);
  CHECK(reports.run(start + 29s) == start + 30s);  // late
  CHECK(seen.size() == 2 && seen[1].live_bytes == 50 && seen_other.size() == 1);
  recycle_what_can_be();
  CHECK(query.state() == heapledger::scope_state::closed);
  free(b);
  CHECK(reports.run(start + 40s) == start + 50s);  // other's
  CHECK(seen.size() == 3 && seen[2].live_bytes == 0 && seen[2].allocated_bytes == 150 && seen[2].frees == 2);
  // what is recycled between two looks is told too
  {
    const enter in(other);
    a = take(70);
  }
  CHECK(reports.run(start + 50s) == start + 75s && seen_other.back().live_bytes == 70);
  other.close();
  free(a);
  recycle_what_can_be();
  CHECK(other.state() == heapledger::scope_state::gone);
  CHECK(reports.run(start + 75s) == report_schedule::clock::time_point::max() && reports.empty());
  CHECK(seen.size() == 3 && seen_other.back().live_bytes == 0 && seen_other.back().frees == 1);
}

// By the thread: as often as it takes.
void thread(unsigned, unsigned) {
  scope query("query");
  std::latch began(3), ended(1);
  std::atomic<std::int64_t> last{-1};
  std::atomic<int> reports{0};
  void* block;
  {
    const enter in(query);
    block = take(10);
  }
  heapledger::report_every(query, 1ms, [&](scope, usage u) {
    last = u.live_bytes;
    if (++reports <= 3) began.count_down();
    if (u.live_bytes == 0) ended.count_down();
  });
  began.wait();
  query.close();  // before the free: the report of 0 bytes is the last

  free(block);
  ended.wait();
  CHECK(last == 0);
}

// A report asks for others, and is not disturbed; one that comes late is not made up for.
void asking(unsigned, unsigned) {
  const report_schedule::clock::time_point start{};
  report_schedule reports;
  const scope query("query"), other("other");
  int calls = 0, calls_of_others = 0;
  reports.add(
      query, 10s,
      [&, text = std::string(100, 'x')](scope, usage) {
        if (++calls > 1) return;
        for (int i = 0; i < 8; ++i)
          reports.add(
              other, 100s, [&](scope, usage) { ++calls_of_others; }, start);
        CHECK(text == std::string(100, 'x'));
      },
      start);
  CHECK(reports.run(start + 35s) == start + 45s && calls == 1);
  CHECK(reports.run(start + 35s) == start + 45s && calls == 1);
  CHECK(reports.run(start + 100s) == start + 110s && calls == 2 && calls_of_others == 8);
  bool thrown = false;
  reports.add(
      other, 1s, [](scope, usage) { throw 1; }, start + 100s);
  try {
    reports.run(start + 101s);
  } catch (int) {
    thrown = true;
  }
  CHECK(thrown && reports.run(start + 101s) == start + 102s);
}

// A child process, which has no such thread, ends.
void forked(unsigned, unsigned) {
  const scope query("query");
  static std::atomic<int> reports{0};  // the scope stays open, so reports are made until the program ends
  heapledger::report_every(query, 1ms, [](scope, usage) { ++reports; });
  while (reports == 0) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    heapledger::report_every(scope("child's"), 1ms, [](scope, usage) {});
    alarm(10);
    std::exit(0);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
}

// Foreign memory that came back in other pieces than it went out does not keep reports going.
void foreign(unsigned, unsigned) {
  const report_schedule::clock::time_point start{};
  report_schedule reports;
  scope query("query");
  usage last;
  CHECK(heapledger::add_foreign(query, 100));
  reports.add(
      query, 10s, [&](scope, usage u) { last = u; }, start);
  CHECK(reports.run(start + 10s) == start + 20s && last.live_bytes == 100);
  CHECK(heapledger::add_foreign(query, -60) && heapledger::add_foreign(query, -40));
  query.close();
  CHECK(reports.run(start + 20s) == report_schedule::clock::time_point::max() && reports.empty());
  CHECK(last.live_bytes == 0 && last.live_blocks == 0 && last.frees == 1);
}

// A report may end the program.
void exits(unsigned, unsigned) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(10);
    heapledger::report_every(scope("child's"), 1ms, [](scope, usage) { std::exit(7); });
    for (;;) pause();
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

// The thread takes no signal of a program whose other threads wait for it.
void signals(unsigned, unsigned) {
  std::latch reported(1);
  scope work("work");
  heapledger::report_every(work, 1ms, [&, first = true](scope, usage) mutable {
    if (first) reported.count_down();
    first = false;
  });
  reported.wait();
  sigset_t ends;
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  kill(getpid(), SIGTERM);
  int which = 0;
  CHECK(sigwait(&ends, &which) == 0 && which == SIGTERM);
  work.close();
}

// Static objects, and threads, may ask for reports to the very end of the program.
void asked_last(unsigned, unsigned) {
  heapledger::report_every(scope("first"), 1ms, [](scope, usage) {});
  static_object.reporter = &heapledger::detail::report_thread::instance();
}

constexpr test::test_case cases[] = {{"schedule", schedule},     {"thread", thread},   {"asking", asking},
                                     {"forked", forked},         {"foreign", foreign}, {"exits", exits},
                                     {"asked_last", asked_last}, {"signals", signals}};

}  // namespace

int main(int argc, char** argv) {
  return test::run_case(cases, argc, argv);
}

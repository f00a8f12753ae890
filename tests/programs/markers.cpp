// Names moments of its own life, and tells what it had allocated at each: the test knows what profile and live view
// must say. Cases that end in a wait print "ready" and go on, step by step, with each byte that comes on standard
// input.
#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "books.hpp"
#include "heapledger/heapledger.h"

namespace {

constexpr unsigned blocks = 100;
void* kept[4 * blocks];
unsigned kept_count = 0;

void say(const char* text) {
  (void)!::write(1, text, std::strlen(text));
}

bool step() {
  char byte = 0;
  return ::read(0, &byte, 1) == 1;
}

}  // namespace

SITE void cache_grows(unsigned bytes) {
  for (unsigned i = 0; i < blocks; ++i) {
    kept[kept_count] = std::malloc(bytes);
    test::escape(kept[kept_count++]);
  }
}
SITE void cache_shrinks() {
  for (unsigned i = 0; i < blocks / 2; ++i) std::free(kept[--kept_count]);
}
SITE void request_churns() {
  for (unsigned i = 0; i < 10 * blocks; ++i) {
    void* block = std::malloc(50);
    test::escape(block);
    std::free(block);
  }
}

namespace {

void* worker(void*) {
  cache_grows(1000);
  return nullptr;
}

// 100 blocks of 64 at A; 100 of 256 more at B, and 1000 short ones; half of those 256 gone at C.
void phases() {
  cache_grows(64);
  heapledger_snapshot("A");
  heapledger_mark("work");
  request_churns();
  cache_grows(256);
  heapledger_snapshot("B");
  cache_shrinks();
  heapledger_snapshot("C");
}

void on_alarm(int) {
  heapledger_mark("from a handler");
  heapledger_snapshot("from a handler");
}

void handlers() {
  struct sigaction action {};
  action.sa_handler = on_alarm;
  sigaction(SIGUSR2, &action, nullptr);
  cache_grows(64);
  raise(SIGUSR2);
}

timer_t timer;

// Not by an interval: where a handler takes longer than that, nothing else would run.
void ask_for_alarm() {
  const itimerspec soon{{0, 0}, {0, 200'000}};
  timer_settime(timer, 0, &soon, nullptr);
}

// Signals that come at any instruction of an allocation.
void storm() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    on_alarm(0);
    ask_for_alarm();
  };
  sigaction(SIGPROF, &action, nullptr);
  sigevent event{};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGPROF;
  timer_create(CLOCK_MONOTONIC, &event, &timer);
  ask_for_alarm();
  for (unsigned i = 0; i < 300; ++i) request_churns();
  timer_delete(timer);
  cache_grows(64);
  heapledger_snapshot("end");
}

void full() {
  for (unsigned i = 0; i < 5000; ++i) heapledger_mark("many");
}

void names() {
  heapledger_snapshot(nullptr);
  heapledger_mark("");
  heapledger_mark("\x1b[31mred\x1b]0;title\x07 \"quoted\" <b>\n\xff");
  char longest[300];
  std::memset(longest, 'x', sizeof longest);
  longest[299] = 0;
  heapledger_mark(longest);
}

void steps() {
  cache_grows(64);
  say("ready\n");
  if (!step()) return;
  cache_grows(256);
  say("ready\n");
  if (!step()) return;
  cache_shrinks();
  request_churns();
  say("ready\n");
  step();
}

// Below and above 1 MiB, a little more, much more: each at once, so that nobody sees the half of it.
void growth() {
  void* grown[4];
  const std::size_t bytes[] = {819'200, 819'200, 102'400, 1'638'400};
  for (int i = 0; i < 4; ++i) {
    grown[i] = std::malloc(bytes[i]);
    say("ready\n");
    if (!step()) break;
  }
  __asm__ volatile("" : : "r"(grown) : "memory");  // it lives to the end
}

void threads() {
  pthread_t thread;
  pthread_create(&thread, nullptr, worker, nullptr);
  pthread_setname_np(thread, "worker \x1b[7m");
  pthread_join(thread, nullptr);
  cache_grows(64);
  heapledger_snapshot("joined");
  say("ready\n");
  step();
}

template <unsigned N>
[[gnu::noinline]] void place() {
  for (unsigned i = 0; i < N; ++i) test::escape(std::malloc(100));
}
template <unsigned... N>
void places(std::integer_sequence<unsigned, N...>) {
  (place<N>(), ...);
}
void many_stacks() {
  places(std::make_integer_sequence<unsigned, 64>());
  say("ready\n");
  step();
}

void scopes() {
  const auto request = heapledger_scope_create("request", 7, 0, nullptr);
  heapledger_scope_enter(request);
  cache_grows(64);
  heapledger_snapshot("in scope");
  cache_grows(256);
  heapledger_scope_enter(0);
  say("ready\n");
  step();
}

}  // namespace

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "";
  if (heapledger_mark == nullptr) {
    say("absent\n");
    return 0;
  }
  const struct {
    const char* name;
    void (*run)();
  } cases[] = {
      {"phases", phases}, {"handlers", handlers}, {"storm", storm},   {"full", full},     {"names", names},
      {"steps", steps},   {"threads", threads},   {"scopes", scopes}, {"growth", growth}, {"many_stacks", many_stacks}};
  for (const auto& each : cases)
    if (!std::strcmp(what, each.name)) {
      each.run();
      return 0;
    }
  return 2;
}

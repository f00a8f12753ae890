// The modes of `waits` in which the program does something, or is somewhere that not every thread is: in a handler, on
// a small stack, in a fiber, at its end.
#pragma once

#include <poll.h>
#include <pthread.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

#include "waits.hpp"

namespace {

// An empty line on standard input, or its end.
bool is_told_to_end() {
  pollfd input{0, POLLIN, 0};
  return poll(&input, 1, 0) == 1;
}

// Hardly ever in the kernel, in one thread: every register has a value that it can be told from.
void compute() {
  ready();
  double sum[4] = {1, 2, 3, 4};
  unsigned long x = 0, rounds = 0;
  while (rounds % 1000 != 0 || !is_told_to_end()) {
    const double before = sum[0] + sum[1] + sum[2] + sum[3];
    const unsigned long y = x;
    errno = ENOTTY;
    for (int i = 0; i < 1000; ++i) {
      for (double& each : sum) each += 0.5;
      asm volatile("add $3, %0" : "+r"(x));
    }
    expect(x == y + 3000, "integers");
    expect(errno == ENOTTY, "errno");
    expect(sum[0] + sum[1] + sum[2] + sum[3] == before + 2000, "floating point");
    for (double& each : sum) each -= 500;
    ++rounds;
  }
}

void allocate_in_threads(bool with_new_threads) {
  std::atomic<bool> ends{false};
  const auto work = [&](unsigned seed) {
    std::vector<void*> blocks(64);
    for (unsigned long i = seed; !ends; ++i) {
      auto*& block = blocks[i * 2654435761u % 64];
      std::free(block);
      block = std::malloc(1 + i * 40503 % 5000);
      expect(block != nullptr, "malloc");
      *static_cast<char*>(block) = 1;
    }
    for (void* block : blocks) std::free(block);
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 4; ++i) threads.emplace_back(work, i);
  std::thread makes([&] {
    while (with_new_threads && !ends) {
      std::thread([] { std::free(std::malloc(100)); }).join();
    }
  });
  ready();
  while (!is_told_to_end()) sched_yield();
  ends = true;
  for (auto& each : threads) each.join();
  makes.join();
}

std::atomic<unsigned long> ticks{0};
// Handlers all the time, which look at errno, and a fault that the program mends itself.
void signals() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    const int error = errno;
    ++ticks;
    errno = EDOM;
    errno = error;
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  struct sigaction fault {};
  fault.sa_flags = SA_SIGINFO;
  fault.sa_sigaction = [](int, siginfo_t*, void* context) {
    static_cast<ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP] += 3;  // movb $0, (%rax)
  };
  sigaction(SIGSEGV, &fault, nullptr);
  const itimerval time{{0, 1000}, {0, 1000}};
  setitimer(ITIMER_REAL, &time, nullptr);
  ready();
  while (!is_told_to_end()) {
    errno = ENOTTY;
    asm volatile("movb $0, (%%rax)" : : "a"(8) : "memory");
    for (int i = 0; i < 10000; ++i) asm volatile("");
    expect(errno == ENOTTY, "errno");
  }
  expect(ticks > 0, "ticks");
}

void all_blocked() {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  ready();
  char byte = 0;
  expect(read(0, &byte, 1) == 1, "read");
  sigset_t now;
  sigprocmask(SIG_BLOCK, nullptr, &now);
  for (const int signal : {SIGUSR1, SIGSEGV, SIGTERM, SIGTRAP})
    expect(sigismember(&now, signal) == 1, "its mask is what it was");
}

void ignored_faults() {
  for (const int signal : {SIGSEGV, SIGTRAP, SIGBUS, SIGILL}) std::signal(signal, SIG_IGN);
  ready();
  char byte = 0;
  expect(read(0, &byte, 1) == 1, "read");
  for (const int signal : {SIGSEGV, SIGTRAP, SIGBUS, SIGILL})
    expect(std::signal(signal, SIG_DFL) == SIG_IGN, "its dispositions are what they were");
}

void small_stack() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 16384);
  pthread_t thread{};
  const auto reads = [](void*) -> void* {
    char byte = 0;
    ready();
    return read(0, &byte, 1) == 1 ? nullptr : &ticks;
  };
  expect(pthread_create(&thread, &attributes, reads, nullptr) == 0, "pthread_create");
  sigset_t all;
  sigfillset(&all);
  void* result = nullptr;
  pthread_join(thread, &result);
  expect(result == nullptr, "read");
}

void fiber() {
  static ucontext_t outer, inner;
  static char stack[32768];
  getcontext(&inner);
  inner.uc_stack.ss_sp = stack + 8192;
  inner.uc_stack.ss_size = 16384;
  inner.uc_link = &outer;
  makecontext(
      &inner,
      [] {
        char byte = 0;
        ready();
        expect(read(0, &byte, 1) == 1, "read");
      },
      0);
  swapcontext(&outer, &inner);
  for (int i = 0; i < 8192; ++i) expect(stack[i] == 0, "what lies below the fiber's stack is what it was");
}

// In the midst of the allocator's and the loader's callers until told: no thread is safe.
void in_handler() {
  struct sigaction action {};
  action.sa_handler = [](int) {
    char byte = 0;
    const char word[] = "ready\n";
    write(1, word, sizeof word - 1);
    read(0, &byte, 1);
  };
  sigaction(SIGUSR1, &action, nullptr);
  raise(SIGUSR1);
}
void at_exit() {
  std::atexit([] {
    char byte = 0;
    ready();
    read(0, &byte, 1);
    _exit(0);
  });
  std::exit(0);
}

}  // namespace

// For interrupted_steps --beside: one thread does all kinds of events, and another forks while it is in the middle of
// one. The child does the same kinds, and must come to its end. Prints how many children there were.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "heapledger/heapledger.h"
#include "scopes.hpp"
#include "ways.hpp"

extern "C" {
[[gnu::weak]] void* heapledger_pool_open(const char* name, std::size_t chunk_bytes);
[[gnu::weak]] std::uint32_t heapledger_pool_allocated(void* pool, const void* chunk, std::size_t bytes);
}

namespace {

volatile std::sig_atomic_t finished;
constexpr int reply_descriptor = 9;

void many_kinds_of_events(unsigned code) {
  down(code % all_codes);
  void* block = malloc(100 + code % 100);
  block = realloc(block, 300);
  block = realloc(block, 100'000);
  block = realloc(block, 200'000);
  free(block);
  const heapledger_budget budget = {1 << 20, 1 << 30, HEAPLEDGER_UNLIMITED, HEAPLEDGER_FAIL, 0};
  const heapledger_scope work = heapledger_scope_create("work", 4, 0, &budget);
  heapledger_scope_enter(work);
  down(code % 64);
  block = malloc(10);
  heapledger_scope_leave(0);
  free(block);
  heapledger_usage used;
  CHECK(heapledger_scope_usage(work, 0, &used) && used.live_bytes == 0);
  heapledger_scope_close(work);
  heapledger_mark("mark");
  heapledger_snapshot("snapshot");
}

void child(unsigned turn) {
  many_kinds_of_events(turn);
  void* const pool = heapledger_pool_open("pool", 64);
  CHECK(pool != nullptr && heapledger_pool_allocated(pool, &turn, 64) != 0);
  _exit(0);
}

unsigned children;

void fork_when_told() {
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGUSR1);
  int received;
  for (; sigwait(&told, &received) == 0; ++children) {
    const pid_t pid = fork();
    if (pid == 0) child(children);
    int status = -1;
    CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK(status == 0);
    CHECK(write(reply_descriptor, "", 1) == 1);
  }
}

}  // namespace

int main() {
  CHECK(heapledger_active != nullptr && heapledger_active());
  sigset_t told;
  sigemptyset(&told);
  sigaddset(&told, SIGUSR1);
  CHECK(pthread_sigmask(SIG_BLOCK, &told, nullptr) == 0);
  std::signal(SIGUSR2, [](int) { finished = 1; });
  std::thread(fork_when_told).detach();
  const std::string plugin = test::beside_program("plugin_a.so");
  for (unsigned round = 0; !finished; ++round) {
    void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_LOCAL);
    CHECK(library);
    if (round != 0) asm volatile("int3");
    many_kinds_of_events(round * 1117);
    dlclose(library);
    if (round != 0) asm volatile("int3");
  }
  test::put(1, "%u\n", children);
  _exit(0);
}

// Forked children whose first event is an odd one:
//   first_in_child thread | race N | realloc | pool | large | grandchild | kept | small
// site_child takes what the child takes.
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <string>
#include <thread>

#include "books.hpp"
#include "heapledger/heapledger.h"

SITE void* site_child(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  return p;
}
SITE void* site_kept(std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  return p;
}

// Another thread's: it is made on a stack that the C library kept, so that nothing is allocated before.
static void* take_one(void*) {
  void* volatile block = site_child(100);
  test::escape(block);
  return nullptr;
}
static void* take_none(void*) {
  return nullptr;
}
static void in_thread(void* (*does)(void*)) {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, does, nullptr) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
}

static std::atomic<unsigned> waiting;
static void* take_together(void*) {
  ++waiting;
  while (waiting < 2) {
  }
  return take_one(nullptr);
}

static void thread_first() {
  in_thread(take_one);
  free(site_child(50));
}

static void two_at_once() {
  pthread_t thread;
  CHECK(pthread_create(&thread, nullptr, take_together, nullptr) == 0);
  take_together(nullptr);
  CHECK(pthread_join(thread, nullptr) == 0);
}

template <class Child>
static void fork_and_wait(Child child) {
  const pid_t pid = fork();
  CHECK(pid >= 0);
  if (pid == 0) {
    child();
    _exit(7);
  }
  int status = 0;
  CHECK(waitpid(pid, &status, 0) == pid);
  test::put(1, "%s %d\n", WIFSIGNALED(status) ? "killed by" : "exited with",
            WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
}

static void realloc_in_a_budget() {
  const heapledger_budget budget = {1 << 20, HEAPLEDGER_UNLIMITED, HEAPLEDGER_UNLIMITED, HEAPLEDGER_FAIL, 0};
  const bool present = heapledger_scope_create != nullptr;
  const heapledger_scope work = present ? heapledger_scope_create("work", 4, 0, &budget) : 0;
  void* block = malloc(100);
  if (present) heapledger_scope_enter(work);
  fork_and_wait([&] { test::escape(block = realloc(block, 200)); });
  if (present) heapledger_scope_enter(0);
  free(block);
}

// As include/heapledger/pool/publish.hpp has it.
struct counters {
  std::uint64_t size_bytes, chunk_bytes, allocations, frees, allocated_bytes, page_bytes, pages, arenas, rest[40];
};
extern "C" [[gnu::weak]] counters* heapledger_pool_open(const char* name, std::size_t chunk_bytes);

// A handler that was registered before the first pool was opened runs before the probe's own.
static void pool_after_a_handler() {
  CHECK(pthread_atfork(nullptr, nullptr, [] { free(site_child(10)); }) == 0);
  counters* pool = heapledger_pool_open != nullptr ? heapledger_pool_open("mine", 64) : nullptr;
  const auto take = [&](std::uint64_t chunks) {
    if (pool == nullptr) return;
    pool->allocations += chunks;
    pool->allocated_bytes += chunks * 64;
  };
  take(3);
  fork_and_wait([&] { take(5); });
}

// What it gives back, and could not enlarge, is a large block of its parent's; what it has is small.
static void large_of_the_parent() {
  volatile std::size_t too_much = std::size_t{1} << 62;
  void* const large = site_kept(200'000);
  fork_and_wait([&] {
    for (int i = 0; i < 1000; ++i) test::escape(site_child(24));
    CHECK(realloc(large, too_much) == nullptr);
    free(large);
    test::escape(site_child(100'000));
  });
  free(large);
}

// Of the one before the parent, which all have.
static void block_of_the_grandparent() {
  void* const block = site_kept(100);
  fork_and_wait([&] {
    free(site_child(24));
    fork_and_wait([&] { free(block); });
  });
  free(block);
}

// A realloc in vain is no free: what it was asked for is no temporary, and what was one stays one.
static void kept_all_the_same() {
  volatile std::size_t too_much = std::size_t{1} << 62;
  for (int i = 0; i < 1000; ++i) CHECK(realloc(site_kept(100), too_much) == nullptr);
  for (const bool is_temporary : {true, false}) {  // of one stack
    void* const block = site_kept(100);
    if (!is_temporary) test::escape(site_child(50));
    is_temporary ? free(block) : CHECK(realloc(block, too_much) == nullptr);
  }
  // Nor is one what the next thread frees first.
  static void* handed_over = nullptr;
  in_thread([](void*) -> void* { return handed_over = site_kept(100), nullptr; });
  in_thread([](void*) -> void* { return free(handed_over), nullptr; });
}

// From a thread with the smallest stack that there is.
static void on_a_small_stack() {
  pthread_attr_t small;
  CHECK(pthread_attr_init(&small) == 0);
  CHECK(pthread_attr_setstacksize(&small, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN))) == 0);
  pthread_t thread;
  const auto forks = [](void*) -> void* {
    fork_and_wait([] { test::escape(site_child(100)); });
    return nullptr;
  };
  CHECK(pthread_create(&thread, &small, forks, nullptr) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  const std::string mode = argv[1];
  free(malloc(10));
  in_thread(take_none);
  if (mode == "thread") fork_and_wait(thread_first);
  if (mode == "race") {
    CHECK(argc == 3);
    for (int i = std::atoi(argv[2]); i > 0; --i) fork_and_wait(two_at_once);
  }
  if (mode == "realloc") realloc_in_a_budget();
  if (mode == "pool") pool_after_a_handler();
  if (mode == "large") large_of_the_parent();
  if (mode == "grandchild") block_of_the_grandparent();
  if (mode == "kept") kept_all_the_same();
  if (mode == "small") on_a_small_stack();
}

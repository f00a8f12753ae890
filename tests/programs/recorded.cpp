// Works on the heap in several threads and writes down, in a shared file that outlives it, what it is about to do and
// what it has done: wherever it is killed, the books of a profiler lie between the two.
//
//   recorded FILE THREADS OPERATIONS END
//
// OPERATIONS is the number after which the first thread ends the program as END says: return, exit, _exit, quick_exit,
// abort, segv, kill, thread (exit() in a thread while the others run), never.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

#include "books.hpp"

namespace {

struct sums {
  std::atomic<std::uint64_t> allocations, frees, allocated_bytes, freed_bytes;
};
struct alignas(64) record {
  sums started, done;
  std::atomic<std::uint64_t> operations;
};
struct file_layout {
  std::atomic<std::uint64_t> pid, threads, finished, reserved[5];
  record records[64];
};
file_layout* shared;
std::uint64_t operations;
const char* end;

void add(std::atomic<std::uint64_t>& sum, std::uint64_t value) {  // one writer each
  sum.store(sum.load(std::memory_order_relaxed) + value, std::memory_order_release);
}
void allocating(sums& s, std::size_t bytes) {
  add(s.allocations, 1);
  add(s.allocated_bytes, bytes);
}
void freeing(sums& s, std::size_t bytes) {
  add(s.frees, 1);
  add(s.freed_bytes, bytes);
}

[[noreturn]] void finish() {
  if (!std::strcmp(end, "exit") || !std::strcmp(end, "thread")) std::exit(7);
  if (!std::strcmp(end, "_exit")) _exit(7);
  if (!std::strcmp(end, "quick_exit")) std::quick_exit(7);
  if (!std::strcmp(end, "abort")) std::abort();
  if (!std::strcmp(end, "segv")) *static_cast<volatile int*>(nullptr) = 1;
  if (!std::strcmp(end, "kill")) kill(getpid(), SIGKILL);
  _exit(98);
}

}  // namespace

SITE void* site_take(record& r, std::size_t bytes) {
  allocating(r.started, bytes);
  void* p = malloc(bytes);
  CHECK(p);
  allocating(r.done, bytes);
  return p;
}
SITE void* site_resize(record& r, void* p, std::size_t old_bytes, std::size_t bytes) {
  freeing(r.started, old_bytes);
  allocating(r.started, bytes);
  void* fresh = realloc(p, bytes);
  CHECK(fresh);
  freeing(r.done, old_bytes);
  allocating(r.done, bytes);
  return fresh;
}
static void release(record& r, void* p, std::size_t bytes) {
  freeing(r.started, bytes);
  free(p);
  freeing(r.done, bytes);
}

static void* work(void* argument) {
  auto who = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(argument));
  record& r = shared->records[who];
  struct held {
    void* block;
    std::size_t bytes;
  } slots[61] = {};
  std::uint64_t random = who * 977 + 12345;
  for (std::uint64_t i = 0; i < operations; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    held& slot = slots[(random >> 33) % 61];
    std::size_t bytes = (random >> 40) % (i % 100 ? 500 : 100000);
    if (!slot.block) {
      slot = {site_take(r, bytes), bytes};
    } else if (i % 3) {
      release(r, slot.block, slot.bytes);
      slot = {};
    } else {
      bytes++;  // never to zero
      slot = {site_resize(r, slot.block, slot.bytes, bytes), bytes};
    }
    add(r.operations, 1);
  }
  bool ends = who == (std::strcmp(end, "thread") ? 0u : 1u);
  if (ends && std::strcmp(end, "return")) finish();
  if (std::strcmp(end, "return")) pause();  // until the other one ends the program
  return nullptr;
}

int main(int argc, char** argv) {
  CHECK(argc == 5);
  int file = open(argv[1], O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  CHECK(file >= 0 && !ftruncate(file, sizeof(file_layout)));
  void* memory = mmap(nullptr, sizeof(file_layout), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(memory != MAP_FAILED);
  close(file);
  shared = static_cast<file_layout*>(memory);
  auto threads = static_cast<std::size_t>(std::atoi(argv[2]));
  CHECK(threads >= 1 && threads <= 64);
  end = argv[4];
  operations = std::strcmp(end, "never") ? std::strtoull(argv[3], nullptr, 10) : UINT64_MAX;
  shared->threads = threads;
  shared->pid = static_cast<std::uint64_t>(getpid());
  pthread_t others[64];
  for (std::size_t i = 1; i < threads; ++i) {
    CHECK(!pthread_create(&others[i], nullptr, work, reinterpret_cast<void*>(i)));
  }
  work(nullptr);
  for (std::size_t i = 1; i < threads; ++i) pthread_join(others[i], nullptr);
  shared->finished = 1;
  test::put(1, "done\n");
  return 7;
}

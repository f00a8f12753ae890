// Many threads with known books: blocks freed by other threads, temporaries, threads that end with live blocks, a peak
// that is known because every thread waits at it. Arguments: FILE [THREADS [ROUNDS]].
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>

#include "books.hpp"

namespace {

constexpr unsigned thread_capacity = 64;
constexpr std::size_t stack_bytes = 256 << 10;
constexpr std::size_t plateau_blocks = 200;

unsigned thread_count = 16, rounds = 2000;
test::books ledgers[thread_capacity + 1];  // one a thread; the last is main's
pthread_barrier_t barrier;

struct parcel {
  void* block;
  std::size_t bytes;
};
// A ring of parcels from each thread to the next; only sender and receiver touch it, in phases between barriers.
parcel mail[thread_capacity][plateau_blocks];

}  // namespace

SITE void* site_mailed(test::books& mine, std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  mine.took("site_mailed", p, bytes);
  return p;
}
SITE void* site_plateau(test::books& mine, std::size_t bytes) {
  void* p = ::operator new(bytes);
  mine.took("site_plateau", p, bytes);
  return p;
}
SITE void* site_kept(test::books& mine, std::size_t bytes) {
  void* p = calloc(1, bytes);
  CHECK(p);
  mine.took("site_kept", p, bytes);
  return p;
}
SITE void site_temporary(test::books& mine, std::size_t bytes) {
  void* p = malloc(bytes);
  CHECK(p);
  mine.took("site_temporary", p, bytes);
  test::fill(p, bytes, 1);
  mine.gave("site_temporary", p, bytes);
  free(p);
}
SITE void* site_resized(test::books& mine, void* p, std::size_t old_bytes, std::size_t bytes) {
  mine.gave("site_resized", p, old_bytes);
  void* fresh = realloc(p, bytes);
  CHECK(fresh);
  mine.took("site_resized", fresh, bytes);
  if (p) mine.at("site_resized").reallocations++;
  return fresh;
}

static std::size_t size_of(unsigned who, std::size_t i) {
  return (i * 37 + who * 11) % 900 + (i % 50 == 0 ? 70000 : 0);
}

static void* work(void* argument) {
  auto who = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(argument));
  test::books& mine = ledgers[who];
  for (unsigned round = 0; round < rounds; ++round) {
    site_temporary(mine, round % 300);
    if (round % 20 == 0) {
      void* p = nullptr;
      std::size_t n = 0;
      for (std::size_t next = 10; next < 80000; next *= 3) {
        p = site_resized(mine, p, n, next);
        n = next;
      }
      mine.gave("site_resized", p, n);
      free(p);
    }
  }
  for (std::size_t i = 0; i < plateau_blocks; ++i) mail[who][i] = {site_mailed(mine, size_of(who, i)), size_of(who, i)};
  pthread_barrier_wait(&barrier);
  unsigned from = (who + 1) % thread_count;  // frees by another thread, in both orders
  for (std::size_t i = 0; i < plateau_blocks; ++i) {
    parcel& p = mail[from][who % 2 ? i : plateau_blocks - 1 - i];
    mine.gave("site_mailed", p.block, p.bytes);
    free(p.block);
  }
  pthread_barrier_wait(&barrier);
  static void* plateau[thread_capacity][plateau_blocks];
  for (std::size_t i = 0; i < plateau_blocks; ++i) plateau[who][i] = site_plateau(mine, 50000 + i);
  pthread_barrier_wait(&barrier);  // the peak: everybody holds everything
  for (std::size_t i = 0; i < plateau_blocks; ++i) {
    mine.gave("site_plateau", plateau[who][i], 50000 + i);
    ::operator delete(plateau[who][i]);
  }
  for (std::size_t i = 0; i < 10; ++i) test::escape(site_kept(mine, 100 + who));
  return nullptr;
}

// On a stack of its own: the C library then allocates and frees one block a thread, and keeps none.
static pthread_t made_thread(unsigned who) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  void* stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(stack != MAP_FAILED && !pthread_attr_setstack(&attributes, stack, stack_bytes));
  pthread_t thread;
  CHECK(!pthread_create(&thread, &attributes, work, reinterpret_cast<void*>(std::uintptr_t{who})));
  pthread_attr_destroy(&attributes);
  return thread;
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  if (argc > 2) thread_count = static_cast<unsigned>(std::atoi(argv[2]));
  if (argc > 3) rounds = static_cast<unsigned>(std::atoi(argv[3]));
  CHECK(thread_count >= 1 && thread_count <= thread_capacity);
  pthread_barrier_init(&barrier, nullptr, thread_count);
  pthread_t threads[thread_capacity];
  for (unsigned who = 0; who < thread_count; ++who) threads[who] = made_thread(who);
  for (unsigned who = 0; who < thread_count; ++who) pthread_join(threads[who], nullptr);
  static test::books all;
  for (const test::books& each : ledgers) all.add(each);
  long long plateau = 0;
  for (std::size_t i = 0; i < plateau_blocks; ++i) plateau += static_cast<long long>(thread_count * (50000 + i));
  test::write_books(argv[1], all, {.threads = thread_count, .emergency_pool = true, .known_peak = plateau});
}

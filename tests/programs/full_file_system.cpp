// Many stacks, and at one of them the file system of a file is filled; then threads, all at once:
// full_file_system FILE AT COUNT [THREADS]
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <vector>

#include "books.hpp"

[[gnu::noinline]] static void zero(unsigned bits, int depth);
[[gnu::noinline]] static void one(unsigned bits, int depth);

// One function or the other at each depth: the stack spells the number.
static void next(unsigned bits, int depth) {
  if (depth == 0) {
    void* block = malloc(10);
    test::escape(block);
    free(block);
  } else if ((bits & 1) != 0) {
    one(bits >> 1, depth - 1);
  } else {
    zero(bits >> 1, depth - 1);
  }
}
static void zero(unsigned bits, int depth) {
  next(bits, depth);
  asm volatile("");
}
static void one(unsigned bits, int depth) {
  next(bits, depth);
  asm volatile("nop");
}

static pthread_barrier_t all_are_there;
static void* in_thread(void*) {
  next(0, 3);
  pthread_barrier_wait(&all_are_there);
  return nullptr;
}
static void at_once(unsigned count) {
  pthread_barrier_init(&all_are_there, nullptr, count);
  std::vector<pthread_t> threads(count);
  for (auto& thread : threads) CHECK(pthread_create(&thread, nullptr, in_thread, nullptr) == 0);
  for (const auto& thread : threads) pthread_join(thread, nullptr);
}

int main(int argc, char** argv) {
  CHECK(argc >= 4);
  const auto at = static_cast<unsigned>(std::atoi(argv[2])), count = static_cast<unsigned>(std::atoi(argv[3]));
  for (unsigned i = 0; i < count; ++i) {
    if (i == at) {
      static char page[4096];
      const int file = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      CHECK(file >= 0);
      while (write(file, page, sizeof page) > 0) {
      }
      close(file);
    }
    next(i, 13);
  }
  if (argc == 5) at_once(static_cast<unsigned>(std::atoi(argv[4])));
  test::put(1, "done\n");
}

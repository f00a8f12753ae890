// No memory left: NULL with ENOMEM, bad_alloc and the new handler come as they do without a profiler, and the program
// goes on afterwards. The limit is set on what is mapped beyond the moment of the call.
#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <initializer_list>
#include <new>

#include "books.hpp"

static std::size_t mapped_bytes() {
  char text[128] = {};
  int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  CHECK(file >= 0 && read(file, text, sizeof text - 1) > 0);
  close(file);
  return std::strtoull(text, nullptr, 10) * 4096;
}

// Of all that is mapped, by whom ever: with setrlimit the program's own.
static void set_kernels(const rlimit& limit) {
  CHECK(!syscall(SYS_prlimit64, 0, RLIMIT_AS, &limit, nullptr));
}

struct chained {
  chained* next;
};

SITE std::size_t site_fill(std::size_t bytes, chained** chain) {
  std::size_t count = 0;
  for (;;) {
    errno = 0;
    auto* block = static_cast<chained*>(malloc(bytes));
    if (!block) break;
    block->next = *chain;
    *chain = block;
    count++;
  }
  CHECK(errno == ENOMEM);
  return count;
}
static void drain(chained** chain) {
  while (chained* block = *chain) {
    *chain = block->next;
    free(block);
  }
}

static int handler_calls;

int main() {
  std::size_t room = 256 << 20, free_before = 256 << 10;  // of what is mapped already, the heap has some to give
  rlimit limit = {mapped_bytes() + room, RLIM_INFINITY};
  set_kernels(limit);
  static chained* chain;
  for (std::size_t bytes : {std::size_t{1} << 20, std::size_t{50000}, std::size_t{1000}, std::size_t{24}}) {
    std::size_t count = site_fill(bytes, &chain);
    CHECK(count * (bytes + 32) > room / 2 && count * bytes <= room + free_before);
    errno = 0;
    CHECK(!calloc(1 << 20, 4) && errno == ENOMEM);
    errno = 0;
    CHECK(!realloc(chain, 64 << 20) && errno == ENOMEM);
    void* aligned = &limit;
    CHECK(posix_memalign(&aligned, 4096, 8 << 20) == ENOMEM && aligned == &limit);
    drain(&chain);
  }
  site_fill(1 << 20, &chain);
  std::set_new_handler([] {
    if (++handler_calls == 2) std::set_new_handler(nullptr);
  });
  bool thrown = false;
  try {
    test::escape(::operator new(16 << 20));
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  CHECK(thrown && handler_calls == 2);
  CHECK(!::operator new(16 << 20, std::nothrow));
  static chained** spare = &chain;
  std::set_new_handler([] { drain(spare); });  // what handlers are for: gives memory back, and the call succeeds
  ::operator delete(::operator new(16 << 20));
  std::set_new_handler(nullptr);
  drain(&chain);
  limit.rlim_cur = RLIM_INFINITY;
  set_kernels(limit);
  void* after = malloc(64 << 20);
  CHECK(after);
  free(after);
  test::put(1, "exhausted, thrown, and went on\n");
}

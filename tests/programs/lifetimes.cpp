// Blocks whose lives the program times itself: lifetimes FILE [fork]. For each life that ended, a line: the site that
// allocated, the requested bytes, and between how many nanoseconds it was long. A life is at least as long as from the
// return of the allocation to the call of the free, and at most from the call of the one to the return of the other.
#include <malloc.h>
#include <sys/wait.h>
#include <time.h>

#include <atomic>
#include <string>
#include <thread>

#include "books.hpp"

static std::uint64_t now_ns() {
  timespec now;
  CHECK(!clock_gettime(CLOCK_MONOTONIC, &now));
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

struct block {
  void* at;
  const char* site;
  std::size_t bytes;
  std::uint64_t before, after;  // its allocation
};
struct life {
  const char* site;
  std::size_t bytes;
  std::uint64_t least, most;
};
static life lives[20000];
static std::size_t life_count = 0;

static void ended(const block& of, std::uint64_t before, std::uint64_t after) {
  CHECK(life_count < sizeof lives / sizeof lives[0]);
  lives[life_count++] = {of.site, of.bytes, before - of.after, after - of.before};
}

// The allocation is in the site's own frame.
#define MAKE(name, expression)                                \
  SITE block name(std::size_t bytes) {                        \
    block made{nullptr, #name, bytes, now_ns(), 0};           \
    made.at = (expression);                                   \
    made.after = now_ns();                                    \
    CHECK(made.at);                                           \
    test::fill(made.at, bytes, static_cast<unsigned>(bytes)); \
    return made;                                              \
  }
MAKE(site_malloc, malloc(bytes))
MAKE(site_calloc, calloc(bytes, 1))
MAKE(site_aligned, aligned_alloc(256, bytes))
MAKE(site_new, ::operator new(bytes))
MAKE(site_array, ::operator new[](bytes))
MAKE(site_large, malloc(100'000 + bytes))
MAKE(site_handed, malloc(bytes))
MAKE(site_kept, malloc(bytes))

static std::size_t bytes_of(const block& of) {
  return std::strcmp(of.site, "site_large") == 0 ? of.bytes + 100'000 : of.bytes;
}

static void give(block& of) {
  CHECK(test::holds(of.at, of.bytes, static_cast<unsigned>(of.bytes)));
  // What may be used is the program's, up to the last byte: nothing of the profiler's is in it.
  std::memset(of.at, 0xa5, malloc_usable_size(of.at));
  block done = of;
  done.bytes = bytes_of(of);
  const std::uint64_t before = now_ns();
  if (std::strcmp(of.site, "site_new") == 0)
    ::operator delete(of.at);
  else if (std::strcmp(of.site, "site_array") == 0)
    ::operator delete[](of.at);
  else
    free(of.at);
  ended(done, before, now_ns());
}

// realloc ends a life and begins another, which is this site's.
SITE block site_grown(block& of, std::size_t bytes) {
  block made{nullptr, "site_grown", bytes, now_ns(), 0};
  made.at = realloc(of.at, bytes);
  made.after = now_ns();
  CHECK(made.at);
  block done = of;
  done.bytes = bytes_of(of);
  ended(done, made.before, made.after);
  test::fill(made.at, bytes, static_cast<unsigned>(bytes));
  return made;
}

static void pass_ns(std::uint64_t ns) {
  for (const std::uint64_t until = now_ns() + ns; now_ns() < until;) {
  }
}

static void every_way(std::uint64_t ns, std::size_t bytes) {
  for (auto* make : {site_malloc, site_calloc, site_aligned, site_new, site_array, site_large}) {
    block made = make(bytes);
    pass_ns(ns);
    give(made);
  }
  block first = site_malloc(bytes);
  pass_ns(ns);
  block second = site_grown(first, 2 * bytes + 1);
  pass_ns(ns);
  block large = site_grown(second, 300'000);
  CHECK(!realloc(large.at, SIZE_MAX / 2));  // lives on
  block larger = site_grown(large, 900'000);
  block small = site_grown(larger, bytes + 1);
  CHECK(!realloc(small.at, SIZE_MAX / 2));
  pass_ns(ns);
  give(small);
}

static void across_threads(std::uint64_t ns) {
  std::atomic<bool> there = false;
  block made{};
  std::thread maker([&] {
    made = site_handed(40);
    there.store(true, std::memory_order_release);
  });
  while (!there.load(std::memory_order_acquire)) {
  }
  pass_ns(ns);
  give(made);
  maker.join();
}

static void write_lives(const char* path) {
  const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(file >= 0);
  for (std::size_t i = 0; i < life_count; ++i)
    test::put(file, "%s %zu %lu %lu\n", lives[i].site, lives[i].bytes, lives[i].least, lives[i].most);
  close(file);
}

int main(int argc, char** argv) {
  CHECK(argc >= 2);
  if (argc > 2) {  // the child frees what it inherited, and blocks of its own
    block inherited[] = {site_malloc(50), site_large(50)};
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      for (block& each : inherited) free(each.at);
      for (std::size_t i = 0; i < 10; ++i) every_way(1000, 100);
      write_lives((std::string(argv[1]) + ".child").c_str());
      _exit(0);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    for (block& each : inherited) give(each);
    write_lives(argv[1]);
    return 0;
  }
  block kept[] = {site_kept(10), site_kept(20'000), site_kept(200'000)};
  for (std::size_t i = 0; i < 100; ++i) every_way(0, 8 * i);
  for (std::size_t i = 0; i < 40; ++i) every_way(3'000, 8 * i + 1);
  for (std::size_t i = 0; i < 10; ++i) every_way(100'000, 1000 + i);
  every_way(7'000'000, 24);
  for (const std::uint64_t ns : {0, 100'000, 2'000'000}) across_threads(ns);
  test::escape(kept);
  write_lives(argv[1]);
}

// A program that keeps its own books: every allocation it makes is written down by the site that made it.
//
// A site is a function `extern "C" [[gnu::noinline]]` whose name is in the stacks of its allocations. The program
// calls took() after each allocation and gave() before each free; write_books() writes JSON to the file that the
// first argument names, without touching the heap. One thread only, unless a program says otherwise: threads take
// their own `books` and add them up at the end.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define SITE extern "C" [[gnu::noinline]]

namespace test {

struct book {
  std::uint64_t allocations, frees, reallocations, temporaries, allocated_bytes, freed_bytes;
  std::int64_t peak_bytes;  // live bytes of this site at the peak of the whole program
  std::int64_t live_bytes() const { return static_cast<std::int64_t>(allocated_bytes - freed_bytes); }
};

inline constexpr std::size_t site_capacity = 64;

struct books {
  const char* names[site_capacity];
  book sites[site_capacity];
  std::int64_t live_bytes;
  std::int64_t peak_bytes;
  const void* last;  // of this thread: what a free of it right now makes a temporary

  book& at(const char* site) {
    for (std::size_t i = 0; i < site_capacity; ++i) {
      if (!names[i]) names[i] = site;
      if (!std::strcmp(names[i], site)) return sites[i];
    }
    std::abort();
  }
  void took(const char* site, const void* block, std::size_t bytes) {
    if (!block) return;
    book& b = at(site);
    b.allocations++;
    b.allocated_bytes += bytes;
    live_bytes += static_cast<std::int64_t>(bytes);
    last = block;
    if (live_bytes > peak_bytes) {
      peak_bytes = live_bytes;
      for (book& each : sites) each.peak_bytes = each.live_bytes();
    }
  }
  void gave(const char* site, const void* block, std::size_t bytes) {
    if (!block) return;
    book& b = at(site);
    b.frees++;
    b.freed_bytes += bytes;
    live_bytes -= static_cast<std::int64_t>(bytes);
    if (last != block) return;
    b.temporaries++;
    last = nullptr;
  }
  void add(const books& other) {
    for (std::size_t i = 0; i < site_capacity && other.names[i]; ++i) {
      book& b = at(other.names[i]);
      b.allocations += other.sites[i].allocations;
      b.frees += other.sites[i].frees;
      b.reallocations += other.sites[i].reallocations;
      b.temporaries += other.sites[i].temporaries;
      b.allocated_bytes += other.sites[i].allocated_bytes;
      b.freed_bytes += other.sites[i].freed_bytes;
    }
  }
};

// What threads or known parts of the C++ library add beside the sites.
struct beside {
  unsigned threads = 0;         // made with made_thread(): the loader allocates and frees one block for each
  bool emergency_pool = false;  // linked with libstdc++, which allocates 72,704 bytes for exceptions at start
  unsigned exceptions = 0;      // thrown and caught inside libstdc++: 136 bytes each, allocated and freed
  long long known_peak = -1;    // of a program with threads
};

// The compiler may not assume anything about what a block holds, or that nobody looks at it.
inline void escape(const void* block) {
  asm volatile("" : : "g"(block) : "memory");
}

inline void check(bool good, const char* what, int line) {
  if (good) return;
  char text[256];
  int length = std::snprintf(text, sizeof text, "line %d: %s\n", line, what);
  (void)!write(2, text, static_cast<std::size_t>(length));
  _exit(99);
}
#define CHECK(condition) ::test::check((condition), #condition, __LINE__)

// A pattern over the first MiB and the last 4 KiB of a block: huge blocks stay untouched in between.
inline constexpr std::size_t pattern_bytes = 1 << 20;
inline unsigned char pattern_at(std::size_t i, unsigned seed) {
  return static_cast<unsigned char>(i * 31 + seed * 7 + 1);
}
inline void fill(void* block, std::size_t bytes, unsigned seed) {
  auto* p = static_cast<unsigned char*>(block);
  if (bytes > pattern_bytes + 4096) std::memset(p + bytes - 4096, 0x5a, 4096);
  for (std::size_t i = 0; i < bytes && i < pattern_bytes; ++i) p[i] = pattern_at(i, seed);
  escape(block);
}
inline bool holds(const void* block, std::size_t bytes, unsigned seed) {
  escape(block);
  auto* p = static_cast<const unsigned char*>(block);
  for (std::size_t i = 0; i < bytes && i < pattern_bytes; ++i) {
    if (p[i] != pattern_at(i, seed)) return false;
  }
  return true;
}
inline bool aligned(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

inline void put(int file, const char* format, auto... values) {
  char text[512];
  int length = std::snprintf(text, sizeof text, format, values...);
  (void)!write(file, text, static_cast<std::size_t>(length));
}

inline void write_books(const char* path, const books& all, const beside& extra = {}) {
  int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(file >= 0);
  put(file, "{\"threads\": %u, \"emergency_pool\": %d, \"exceptions\": %u, \"peak_bytes\": %lld, \"sites\": {",
      extra.threads, static_cast<int>(extra.emergency_pool), extra.exceptions,
      extra.known_peak >= 0 ? extra.known_peak : static_cast<long long>(all.peak_bytes));
  for (std::size_t i = 0; i < site_capacity && all.names[i]; ++i) {
    const book& b = all.sites[i];
    put(file,
        "%s\n \"%s\": {\"allocations\": %lu, \"frees\": %lu, \"reallocations\": %lu, \"temporaries\": %lu, "
        "\"allocated_bytes\": %lu, \"freed_bytes\": %lu, \"peak_bytes\": %ld}",
        i ? "," : "", all.names[i], b.allocations, b.frees, b.reallocations, b.temporaries, b.allocated_bytes,
        b.freed_bytes, b.peak_bytes);
  }
  put(file, "}}\n");
  close(file);
}

}  // namespace test

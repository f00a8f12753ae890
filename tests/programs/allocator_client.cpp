// Works on whatever allocator is linked or preloaded, checking what it gets. Argument: how many threads. Alignments
// stay at 128 or less: beyond, mimalloc 2.0.9 gives misaligned blocks by itself for some sizes.
#include <malloc.h>
#include <string.h>

#include <map>
#include <string>
#include <thread>
#include <vector>

#include "books.hpp"

static void work(unsigned who) {
  std::map<std::string, std::vector<int>> tree;
  std::vector<std::pair<void*, std::size_t>> blocks;
  for (unsigned i = 0; i < 4000; ++i) {
    tree["key" + std::to_string(i % 300)].push_back(static_cast<int>(i));
    std::size_t bytes = (i * 37 + who) % 3000 + (i % 97 == 0 ? 200000 : 0);
    void* p = nullptr;
    std::size_t alignment = 16;
    switch (i % 4) {
      case 0:
        p = malloc(bytes);
        break;
      case 1:
        p = calloc(bytes, 1);
        break;
      case 2:
        alignment = std::size_t{32} << i % 3;
        CHECK(!posix_memalign(&p, alignment, bytes));
        break;
      default:
        p = realloc(nullptr, bytes);
    }
    CHECK(p && (test::aligned(p, bytes < 16 ? 8 : alignment)) && malloc_usable_size(p) >= bytes);
    test::fill(p, bytes, i);
    const std::string text(i % 50, 'x');
    char* copy = i % 2 == 0 ? strdup(text.c_str()) : strndup(text.c_str(), 30);
    CHECK(copy && copy == text.substr(0, i % 2 == 0 ? 50 : 30));
    if (i % 7 == 0)
      blocks.emplace_back(copy, text.size());
    else
      free(copy);
    if (i % 5 == 0) {
      p = realloc(p, bytes * 2 + 1);
      CHECK(p && test::holds(p, bytes, i));
    }
    blocks.emplace_back(p, bytes);
    if (i % 3) {
      auto [old, size] = blocks[i / 2 % blocks.size()];
      if (old) {
        blocks[i / 2 % blocks.size()].first = nullptr;
        free(old);
      }
    }
  }
  for (auto [p, bytes] : blocks) free(p);
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  auto count = static_cast<unsigned>(std::atoi(argv[1]));
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < count; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();
  test::put(1, "%u threads are done\n", count);
}

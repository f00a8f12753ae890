// Blocks from before the allocator knows their sizes (late_sizes.c): written, resized and freed before and after.
#include <cstdlib>
#include <cstring>
#include <vector>

#include "books.hpp"

extern "C" [[gnu::weak]] void know_sizes();

namespace {

struct filled {
  unsigned char* at;
  std::size_t bytes;
  unsigned char with;

  bool holds() const {
    for (std::size_t i = 0; i < bytes; ++i)
      if (at[i] != with) return false;
    return true;
  }
};

}  // namespace

[[gnu::noinline]] static filled site_early(std::size_t bytes, unsigned number) {
  filled block{static_cast<unsigned char*>(malloc(bytes)), bytes, static_cast<unsigned char>(number)};
  CHECK(block.at != nullptr);
  std::memset(block.at, block.with, bytes);
  return block;
}

[[gnu::noinline]] static void site_resize(filled& block, std::size_t bytes) {
  block.at = static_cast<unsigned char*>(realloc(block.at, bytes));
  CHECK(block.at != nullptr || bytes == 0);
  if (bytes < block.bytes) block.bytes = bytes;
  CHECK(block.holds());
}

int main() {
  CHECK(know_sizes != nullptr);
  std::vector<filled> blocks;
  for (unsigned i = 0; i < 1000; ++i) blocks.push_back(site_early(i * 7 % 120, i));
  for (const filled& each : blocks) CHECK(each.holds());
  for (unsigned i = 0; i < 1000; ++i) {
    if (i == 500) know_sizes();
    if (i % 3 == 0) site_resize(blocks[i], i % 200);  // some of them to nothing
    free(blocks[i].at);
  }
}

// Chunks of a pool that the leak watch moves: what the program writes is what it and its children read, wherever a
// chunk lives. Grows until enough chunks were moved, then forks, frees everything, and says how many it were.
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "heapledger/pool.hpp"
#include "heapledger/pool/publish.hpp"

namespace {

using namespace heapledger;
using sited_pool = pool<48, threading::thread_cached, allocation_site, published<>, all_checks>;

constexpr std::size_t bytes = 40;
constexpr std::uint64_t enough = 20;
sited_pool requests("requests");

struct kept {
  unsigned char* chunk;
  int mark;
};
std::vector<kept> all;

[[gnu::noinline]] void keep(int mark) {
  auto* const chunk = static_cast<unsigned char*>(requests.allocate(bytes));
  std::memset(chunk, mark, bytes);
  all.push_back({chunk, mark & 0xff});
}

void expect(bool right, const char* what) {
  if (right) return;
  std::fprintf(stderr, "pool_moves: %s\n", what);
  std::_Exit(1);
}

void verify(const kept& one) {
  for (std::size_t i = 0; i < bytes; ++i) expect(one.chunk[i] == one.mark, "a chunk does not hold what was written");
  expect(requests.owns(one.chunk), "a chunk is not the pool's");
  expect(requests.header(one.chunk)->bytes == bytes, "a header is another one");
}

void fill(int by) {
  for (auto& one : all) {
    one.mark = (one.mark + by) & 0xff;
    std::memset(one.chunk, one.mark, bytes);
  }
}

void rest() {
  const timespec moment{0, 1'000'000};
  nanosleep(&moment, nullptr);
}

// Parent and child write at once, and see only what is their own.
void fork_and_check() {
  const pid_t child = fork();
  fill(child == 0 ? 3 : 7);
  for (int i = 0; i < 200; ++i) keep(i);
  for (const auto& one : all) verify(one);
  if (child == 0) {
    for (const auto& one : all) requests.deallocate(one.chunk);
    expect(requests.chunks_in_use() == 0, "the child's pool is not empty");
    std::_Exit(0);
  }
  int status = 0;
  expect(waitpid(child, &status, 0) == child && status == 0, "the child failed");
}

}  // namespace

int main() {
  const auto moved_so_far = [] { return requests.analyzer().counters().moved; };
  int mark = 0;
  for (int round = 0; moved_so_far() < enough && round < 60'000; ++round) {
    for (int i = 0; i < 3; ++i) keep(++mark);
    if (round % 50 == 0)
      for (const auto& one : all) verify(one);
    rest();
  }
  const auto moved = moved_so_far();
  for (int i = 0; i < 3; ++i) fork_and_check();
  for (const auto& one : all) {
    verify(one);
    requests.deallocate(one.chunk);
  }
  expect(requests.chunks_in_use() == 0, "the pool is not empty");
  std::printf("moved %s\n", moved >= enough ? "enough" : "too few");
  return 0;
}

// Pools that show themselves to a profiler. Writes what it did to standard output, for the test to compare:
//
//   pools counted | sited | by_size | many | forked | forked_with_handler | threads | killed | live
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "heapledger/pool.hpp"
#include "heapledger/pool/publish.hpp"
#include "heapledger/pool/resource.hpp"

namespace {

using heapledger::allocation_site;
using heapledger::no_header;
using heapledger::pool;
using heapledger::published;
namespace threading = heapledger::threading;

template <std::size_t ChunkSize, class Header = no_header>
using shown_pool = pool<ChunkSize, threading::thread_cached, Header, published<>, heapledger::no_checks>;
using sited_pool = shown_pool<48, allocation_site>;

template <class Pool>
void tell(Pool& of) {
  const heapledger_pool_counters& is = of.analyzer().counters();
  std::printf("%lu %lu %lu %lu %lu\n", is.allocations, is.frees, is.allocated_bytes, is.page_bytes, is.peak_page_bytes);
}

template <class Pool>
std::vector<void*> take(Pool& from, int count, std::size_t bytes) {
  std::vector<void*> chunks;
  for (int i = 0; i < count; ++i) chunks.push_back(from.allocate(bytes));
  return chunks;
}

template <class Pool>
void give(Pool& to, const std::vector<void*>& chunks) {
  for (void* const chunk : chunks) to.deallocate(chunk);
}

[[gnu::noinline]] std::vector<void*> keep_many(sited_pool& from) {
  return take(from, 1000, 40);
}
[[gnu::noinline]] std::vector<void*> keep_few(sited_pool& from) {
  return take(from, 10, 20);
}
[[gnu::noinline]] void churn(sited_pool& from) {
  for (int i = 0; i < 5000; ++i) from.deallocate(from.allocate(8));
}

// Never destroyed: in use at the end.
sited_pool& requests() {
  static auto* const one = new sited_pool("requests");
  return *one;
}

int counted() {
  static shown_pool<32> shown("events");
  give(shown, take(shown, 100, 20));
  take(shown, 3000, 30);
  tell(shown);
  std::fflush(stdout);
  _exit(0);
}

int sited() {
  const auto many = keep_many(requests());
  const auto few = keep_few(requests());
  churn(requests());
  tell(requests());
  return many.size() + few.size() == 1010 ? 0 : 1;
}

// By a table of functions, which are the pool's own.
[[gnu::noinline]] void keep_by_size(std::pmr::memory_resource& from) {
  for (std::size_t bytes = 1; bytes <= 16; ++bytes) static_cast<void>(from.allocate(bytes));
  for (std::size_t bytes = 41; bytes <= 48; ++bytes) static_cast<void>(from.allocate(bytes));
}
int by_size() {
  using set = heapledger::pool_set<threading::thread_cached, allocation_site, published<>, heapledger::no_checks>;
  auto* const resource = new heapledger::pool_resource<set>("nodes");
  keep_by_size(*resource);
  return 0;
}

// Pools that come and go: one kind, whatever their number. Another one's name is the begin of theirs.
int many() {
  for (int i = 0; i < 20000; ++i) {
    shown_pool<64> one("short-lived");
    give(one, take(one, 3, 60));
  }
  shown_pool<64> other("short");
  give(other, take(other, 1, 60));
  return 0;
}

// Says what the pool counted, and waits, at three moments.
int live() {
  const auto many = keep_many(requests());
  for (int step = 0; step < 3; ++step) {
    tell(requests());
    std::fflush(stdout);
    if (std::getchar() != 'x') return 1;
    if (step == 0) give(requests(), {many.begin(), many.begin() + 600});
    if (step == 1) {
      give(requests(), {many.begin() + 600, many.end()});
      requests().trim();
    }
  }
  return 0;
}

int forked() {
  const auto kept = keep_many(requests());
  if (const pid_t child = fork(); child != 0) {
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) return 1;
    give(requests(), keep_few(requests()));
    tell(requests());
    return 0;
  }
  // Before anything else happens here: no allocation from the heap yet.
  void* const first = requests().allocate(30);
  requests().deallocate(kept[0]);
  const auto few = keep_few(requests());
  sited_pool another("of the child");
  another.deallocate(another.allocate(1));
  requests().deallocate(first);
  tell(requests());
  return few.size() == 10 ? 0 : 1;
}

// A handler that was registered before there was a pool takes chunks in the child.
sited_pool* of_handler = nullptr;
int forked_with_handler() {
  pthread_atfork(nullptr, nullptr, [] {
    for (int i = 0; i < 100; ++i) static_cast<void>(of_handler->allocate(30));
  });
  of_handler = &requests();
  void* const one = requests().allocate(30);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return 1;
  requests().deallocate(one);
  return 0;
}

int threads() {
  std::vector<std::thread> running;
  for (int t = 0; t < 4; ++t)
    running.emplace_back([] {
      for (int i = 0; i < 50; ++i) {
        churn(requests());
        give(requests(), keep_many(requests()));
      }
    });
  for (auto& one : running) one.join();
  tell(requests());
  return 0;
}

int killed() {
  keep_many(requests());
  tell(requests());
  std::fflush(stdout);
  kill(getpid(), SIGKILL);
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string which = argc > 1 ? argv[1] : "";
  if (which == "counted") return counted();
  if (which == "sited") return sited();
  if (which == "by_size") return by_size();
  if (which == "many") return many();
  if (which == "forked") return forked();
  if (which == "forked_with_handler") return forked_with_handler();
  if (which == "threads") return threads();
  if (which == "killed") return killed();
  if (which == "live") return live();
  return 2;
}

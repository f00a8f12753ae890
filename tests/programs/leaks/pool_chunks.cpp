// Chunks of a pool: most come and go, some are in use for long, one in eight is lost.
#include "scenario.hpp"

#include "heapledger/pool.hpp"
#include "heapledger/pool/publish.hpp"

using namespace heapledger;
using sited_pool = pool<48, threading::thread_cached, allocation_site, published<>, no_checks>;

corpus::place lost{"leak_chunk"};
sited_pool& requests = *new sited_pool("requests");

[[gnu::noinline]] void leak_chunk(unsigned long size) {
  void* const chunk = requests.allocate(size);
  std::memset(chunk, 1, size);
  corpus::last_seen = chunk;
  corpus::last_seen = nullptr;
  lost.bytes += size;
}

[[gnu::noinline]] void* take_request() {
  return requests.allocate(40);
}

int main(int, char** arguments) {
  void* queue[100] = {};
  std::vector<void*> history;
  corpus::play(arguments, [&](unsigned long tick, double) {
    for (int i = 0; i < 4; ++i) {
      void*& place = queue[(tick * 4 + static_cast<unsigned long>(i)) % 100];
      requests.deallocate(place);
      place = take_request();
      std::memset(place, 2, 40);
    }
    if (tick % 4 == 0) leak_chunk(17 + tick % 30);
    if (tick % 5 == 0) history.push_back(requests.allocate(30));  // grows, and all of it is read
    for (void* const chunk : history) corpus::last_seen = *static_cast<void**>(chunk);
  });
  corpus::finish({&lost});
}

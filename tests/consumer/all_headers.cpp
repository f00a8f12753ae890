// Uses what the public headers have, under every warning that a careful project turns on.
#include <heapledger/heapledger.h>
#include <heapledger/coroutine.hpp>
#include <heapledger/expect.hpp>
#include <heapledger/periodic.hpp>
#include <heapledger/pool.hpp>
#include <heapledger/pool/allocator.hpp>
#include <heapledger/pool/analyzers.hpp>
#include <heapledger/pool/pool_set.hpp>
#include <heapledger/pool/pooled.hpp>
#include <heapledger/pool/publish.hpp>
#include <heapledger/pool/resource.hpp>
#include <heapledger/pool/unique.hpp>
#include <heapledger/run.hpp>
#include <heapledger/scope.hpp>
#include <heapledger/scope_resource.hpp>
#include <heapledger/usage.hpp>

#include <memory_resource>
#include <vector>

using namespace heapledger;

namespace {

struct event : pooled<event> {
  int number = 0;
};

template <class Pool>
void use(Pool& pool) {
  void* const chunk = pool.allocate();
  pool.deallocate(chunk);
  pool.trim();
  pool.reset();
}

template <std::size_t Bytes>
void use_pools() {
  pool<Bytes> plain("plain");
  use(plain);
  pool<Bytes, threading::thread_cached> cached("cached");
  use(cached);
  pool<Bytes, threading::shared, birth_time, analyzers<counting<>, lifetimes<>>, all_checks> counted("counted");
  use(counted);
  pool<Bytes, threading::thread_cached, allocation_site, published<>, exact_checks> shown("shown");
  use(shown);
  const auto made = make_pooled<int>(plain, 3);
}

}  // namespace

int main() {
  use_pools<16>();
  use_pools<48>();
  use_pools<512>();
  delete new event;
  pool_resource<> resource;
  std::pmr::vector<int> numbers(&resource);
  numbers.push_back(1);
  pool_set<> pools;
  std::vector<int, pool_allocator<int>> others(&pools);
  others.push_back(2);
  const scope request("request");
  const enter inside(request);
  return static_cast<int>(request.used().live_blocks);
}

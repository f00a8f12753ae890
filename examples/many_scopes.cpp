// As many scopes as there is work: a hundred thousand alive at once, and a million one after another. None is silently
// left out, and a handle of one that is gone is never another's.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <heapledger/scope.hpp>
#include <vector>

int main() {
  constexpr unsigned at_once = 100'000, in_turn = 1'000'000;
  const heapledger::scope all("all");
  std::vector<heapledger::scope> scopes;
  std::vector<void*> blocks;
  scopes.reserve(at_once);
  blocks.reserve(at_once);
  for (unsigned i = 0; i < at_once; ++i) {
    scopes.emplace_back("session", heapledger::budget{}, all);
    blocks.push_back(heapledger::run_in(scopes.back(), [] { return std::malloc(24); }));
  }
  unsigned exact = 0;
  for (const heapledger::scope& each : scopes) exact += each.used_alone().live_bytes == 24 ? 1 : 0;
  std::printf("%u scopes with 24 bytes each\n", exact);
  for (void* block : blocks) std::free(block);
  for (heapledger::scope& each : scopes) each.close();

  for (unsigned i = 0; i < in_turn; ++i) {
    const heapledger::owned_scope request("request", {}, all);
    void*& block = blocks[i % at_once];
    block = heapledger::run_in(request, [] { return std::malloc(24); });
    std::free(block);
  }
  unsigned gone = 0;
  for (const heapledger::scope& each : scopes) gone += each.used() == heapledger::usage{} ? 1 : 0;
  std::printf("%u of them are gone, %" PRIu64 " allocations in all\n", gone, all.used().allocations);
}

// A function that is called in a scope of its own: what it used, what of that outlives it, whether it met its limits.
// Afterwards the thread is again in the scope where it was.
#include <cinttypes>
#include <cstdio>
#include <heapledger/run.hpp>
#include <memory>
#include <vector>

namespace {

// A compiler may leave memory out that nobody looks at.
void look_at(const void* memory) {
  asm volatile("" : : "r"(memory) : "memory");
}

std::unique_ptr<char[]> parse(std::size_t bytes) {
  const std::vector<char> scratch(10 * bytes);
  look_at(scratch.data());
  return std::make_unique<char[]>(bytes);
}

template <class T>
void tell(const char* what, const heapledger::run_result<T>& of) {
  std::printf("%s: %" PRIu64 " allocations, at most %" PRId64 " bytes, %" PRId64 " of them outlive it%s\n", what,
              of.used.allocations, of.used.peak_bytes, of.escaped_bytes(), of.exceeded ? ", over its limit" : "");
}

}  // namespace

int main() {
  std::puts("a request that parses twice");  // standard output takes its buffer in no scope
  const heapledger::owned_scope request("request");
  const heapledger::enter inside(request);
  const auto parsed = heapledger::run("parse", {}, [] { return parse(100); });
  tell("parsed", parsed);
  const auto greedy = heapledger::run("parse", {.live_bytes = 5000}, [] { return parse(1000).get() != nullptr; });
  tell("greedy", greedy);
  {
    const std::vector<char> here(50);
    look_at(here.data());
    std::printf("the request itself: %" PRIu64 " allocation; with what it called: %" PRId64 " bytes live\n",
                request->used_alone().allocations, request->used().live_bytes);
  }
}

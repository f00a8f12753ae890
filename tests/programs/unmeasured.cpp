// A program that is linked with the probe, and of whose allocations the probe sees none, or not all: what it is told.
// Built with an allocator of its own, with operators of its own, or for a sanitizer; and with none, when all is seen.
// With an argument it prints the text of a failed expectation.
#include <cstdio>
#include <cstdlib>
#include <heapledger/expect.hpp>
#include <new>

#ifdef OWN_MALLOC  // VISIBILITY: whether libraries see it, or just this program
extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
[[gnu::visibility(VISIBILITY)]] void* malloc(std::size_t bytes) {
  return __libc_malloc(bytes);
}
[[gnu::visibility(VISIBILITY)]] void free(void* block) {
  __libc_free(block);
}
}
#endif

#ifdef OWN_OPERATORS
namespace {
alignas(16) char arena[1 << 20];
std::size_t used;
}  // namespace

void* operator new(std::size_t bytes) {
  void* const block = arena + used;
  used += (bytes + 15) & ~std::size_t{15};
  return block;
}
void operator delete(void*) noexcept {}
void operator delete(void*, std::size_t) noexcept {}
#endif

namespace {

[[gnu::noinline]] void allocates(std::size_t bytes) {
  void* volatile block = std::malloc(bytes);
  std::free(block);
  void* volatile object = ::operator new(bytes);
  ::operator delete(object);
}

}  // namespace

int main(int count, char**) {
  const auto nothing = heapledger::expect_no_allocations([] { allocates(100); });
  if (count > 1) return std::fputs(nothing.text.c_str(), stdout), 0;
  const heapledger::owned_scope request("request", {.live_bytes = 10, .action = heapledger::on_exceed::fail});
  bool refused = false;
  heapledger::run_in(request, [&] {
    void* volatile block = std::malloc(11);
    refused = block == nullptr;
    std::free(block);
  });
  std::printf("active %d, %s, %s, %s\n%s", heapledger::active(), nothing ? "met" : "not met",
              nothing.measured ? "measured" : "not measured", refused ? "refused" : "let through",
              nothing.measured ? "" : nothing.text.c_str());
}

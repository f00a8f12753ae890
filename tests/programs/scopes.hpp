// What the programs that test scopes and budgets share.
#pragma once

#include <heapledger/scope.hpp>

#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <string>

#include "books.hpp"

namespace test {

constexpr heapledger::budget failing(std::uint64_t live_bytes) {
  return {.live_bytes = live_bytes, .action = heapledger::on_exceed::fail};
}

#define CHECK_USED(scope_, live_, blocks_, allocated_, allocations_, frees_)                                    \
  do {                                                                                                          \
    const heapledger::usage u_ = (scope_).used();                                                               \
    if (!(u_.live_bytes == (live_) && u_.live_blocks == (blocks_) && u_.allocated_bytes == (allocated_) &&      \
          u_.allocations == (allocations_) && u_.frees == (frees_)))                                            \
      std::fprintf(stderr, "live %ld in %ld, allocated %lu in %lu, %lu frees\n", u_.live_bytes, u_.live_blocks, \
                   u_.allocated_bytes, u_.allocations, u_.frees),                                               \
          test::check(false, #scope_ " used otherwise", __LINE__);                                              \
  } while (0)

inline void* take(std::size_t bytes) {
  void* block = malloc(bytes);
  test::escape(block);
  return block;
}

inline std::string beside_program(const char* name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

// Runs the case that the first argument names; exits 2 without such a case, 3 without the probe.
struct test_case {
  const char* name;
  void (*run)(unsigned first, unsigned second);
  unsigned first = 0, second = 0;  // numbers that further arguments may replace
};

template <std::size_t Count>
int run_case(const test_case (&cases)[Count], int argc, char** argv) {
  if (!heapledger::active()) return std::puts("inactive"), 3;
  for (const test_case& each : cases) {
    if (argc < 2 || std::strcmp(each.name, argv[1]) != 0) continue;
    each.run(argc > 2 ? static_cast<unsigned>(std::atoi(argv[2])) : each.first,
             argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : each.second);
    return 0;
  }
  return 2;
}

}  // namespace test

// Assertions on allocations; each case checks itself. Argument: CASE.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <barrier>
#include <heapledger/expect_gtest.hpp>
#include <string>
#include <thread>
#include <vector>

#include "scopes.hpp"

using heapledger::measurement;
using test::take;

namespace {

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

// Not in the unnamed namespace: the dynamic symbols are to know it.
[[gnu::noinline]] void allocates_here(std::size_t bytes, int times) {
  for (int i = 0; i < times; ++i) free(take(bytes));
}
[[gnu::noinline]] void* keeps_here(std::size_t bytes) {
  void* block = take(bytes);
  test::escape(block);
  return block;
}

namespace {

void plain(unsigned, unsigned) {
  const auto nothing = heapledger::expect_no_allocations([] {});
  CHECK(nothing && nothing.measured && nothing.text.empty());
  void* kept = nullptr;
  for (int round = 1; round <= 3; ++round) {  // of each time alone, though it is always the same place
    const auto some = heapledger::expect_no_allocations([&] {
      allocates_here(100, round);
      kept = keeps_here(7);
    });
    CHECK(!some && some.used.allocations == round + 1u && some.used.allocated_bytes == round * 100u + 7u);
    CHECK(contains(some.text, (std::to_string(round + 1) + " allocations, at most 0 expected").c_str()));
    CHECK(contains(some.text, ("  " + std::to_string(round * 100) + " bytes in " + std::to_string(round)).c_str()));
    CHECK(contains(some.text, "  7 bytes in 1 allocation, 7 bytes not freed, from\n"));
    CHECK(contains(some.text, "allocates_here(unsigned long, int)") &&
          contains(some.text, "keeps_here(unsigned long)"));
    free(kept);
  }
  // in scopes within it, too
  const auto within = heapledger::expect_no_allocations([] {
    const heapledger::owned_scope request("request");
    heapledger::run_in(request,
                       [&] { heapledger::run_in(heapledger::owned_scope("query"), [] { allocates_here(1, 1); }); });
  });
  CHECK(!within && contains(within.text, "1 byte allocated, at most 0 expected\n1 allocation, at most 0 expected\n"));
  CHECK(contains(within.text, "  1 byte in 1 allocation, 0 bytes not freed, from\n"));
  CHECK(contains(within.text, "allocates_here(unsigned long, int)"));
  CHECK(!!heapledger::expect_at_most({.bytes = 300, .allocations = 3, .peak_bytes = 100},
                                     [] { allocates_here(100, 3); }));
  CHECK(!heapledger::expect_at_most({.bytes = 299}, [] { allocates_here(100, 3); }));
  CHECK(!heapledger::expect_at_most({.allocations = 2}, [] { allocates_here(100, 3); }));
  CHECK(!heapledger::expect_at_most({.peak_bytes = 99}, [] { allocates_here(100, 1); }));
  // other threads' part, where it is handed on; a free of earlier memory is no allocation
  void* earlier = keeps_here(10);
  const measurement of = heapledger::measure([&] {
    free(earlier);
    std::thread unrelated([] { allocates_here(1, 1); });
    unrelated.join();
  });
  const measurement handed_on = heapledger::measure([&] {
    std::thread related(heapledger::bind(heapledger::scope::current(), [] { allocates_here(1, 1); }));
    related.join();
  });
  const auto from_here = [](const measurement& by) {
    std::uint64_t found = 0;
    for (const heapledger::site& each : by.sites)
      if (contains(heapledger::to_string(each), "allocates_here(")) found += each.allocations;
    return found;
  };
  CHECK(from_here(of) == 0 && of.used.frees > 0 && from_here(handed_on) == 1);
}

// The peak is exact whatever threads make it: of bytes that none of them would tell the others.
void threads(unsigned, unsigned) {
  const auto at_once = [](std::size_t bytes, unsigned count) {
    std::barrier<> all(count);
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < count; ++i)
      threads.emplace_back(heapledger::bind(heapledger::scope::current(), [&] {
        void* const block = take(bytes);
        all.arrive_and_wait();
        free(block);
        all.arrive_and_wait();
        free(take(bytes));
      }));
    for (std::thread& each : threads) each.join();
  };
  constexpr std::uint64_t bytes = 15'000, count = 4, of_threads = 4096;  // what std::thread takes itself
  const auto too_many = heapledger::expect_at_most({.peak_bytes = bytes * count - 1}, [&] { at_once(bytes, count); });
  CHECK(!too_many && too_many.measured && too_many.used.error_bytes == 0);
  CHECK(contains(too_many.text, " bytes live at once, at most 59999 expected\n"));
  CHECK(!!heapledger::expect_at_most({.peak_bytes = bytes * count + of_threads}, [&] { at_once(bytes, count); }));
  // what lived in it is freed by a thread that is not
  void* block = nullptr;
  const measurement elsewhere = heapledger::measure([&] {
    for (int i = 0; i < 3; ++i) {
      block = take(bytes);
      heapledger::run_in(heapledger::scope::process(), [&] { std::thread([&] { free(block); }).join(); });
    }
  });
  CHECK(elsewhere.used.peak_bytes == bytes && elsewhere.used.error_bytes == 0 && elsewhere.used.live_bytes == 0);
}

// A forked child knows nothing of what it was in.
void forked(unsigned, unsigned) {
  int status = 0;
  pid_t child = 0;
  const auto of = heapledger::expect_no_allocations([&] {
    if (child = fork(); child == 0) allocates_here(100, 1);
    if (child != 0) waitpid(child, &status, 0);
  });
  if (child == 0) _exit(of.met && !of.measured ? 0 : 1);
  CHECK(of.met && of.measured && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void googletest(unsigned, unsigned) {
  EXPECT_TRUE(heapledger::allocates_nothing([] {}));
  EXPECT_TRUE(heapledger::allocates_at_most({.allocations = 2}, [] { allocates_here(10, 2); }));
  EXPECT_NONFATAL_FAILURE(EXPECT_TRUE(heapledger::allocates_nothing([] { allocates_here(10, 2); })),
                          "allocates_here(unsigned long, int)");
  EXPECT_THAT(heapledger::measure([] {}), heapledger::AllocatesNothing());
  EXPECT_THAT(heapledger::measure([] { allocates_here(10, 1); }), testing::Not(heapledger::AllocatesNothing()));
  EXPECT_NONFATAL_FAILURE(
      EXPECT_THAT(heapledger::measure([] { allocates_here(10, 2); }), heapledger::AllocatesAtMost({.bytes = 19})),
      "allocates at most 19 bytes");
  EXPECT_NONFATAL_FAILURE(
      EXPECT_THAT(heapledger::measure([] { allocates_here(10, 2); }), heapledger::AllocatesAtMost({.bytes = 19})),
      "20 bytes in 2 allocations, 0 bytes not freed, from");
}

TEST(expectations, googletest) {
  googletest(0, 0);
}

void in_googletest(unsigned, unsigned) {
  CHECK(RUN_ALL_TESTS() == 0);
}

constexpr test::test_case cases[] = {
    {"plain", plain}, {"threads", threads}, {"forked", forked}, {"googletest", in_googletest}};

}  // namespace

int main(int argc, char** argv) {
  testing::GTEST_FLAG(brief) = true;
  testing::UnitTest::GetInstance()->listeners().Release(
      testing::UnitTest::GetInstance()->listeners().default_result_printer());
  testing::InitGoogleMock(&argc, argv);
  if (!heapledger::active() && argc > 1 && std::string_view(argv[1]) == "unmeasured") {
    const auto nothing = heapledger::expect_no_allocations([] { allocates_here(10, 1); });
    return std::printf("%smet, %smeasured\n", nothing ? "" : "not ", nothing.measured ? "" : "not "), 0;
  }
  return test::run_case(cases, argc, argv);
}

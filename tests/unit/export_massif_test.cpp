#include <gtest/gtest.h>

#include <string>

#include "report_sample.hpp"
#include "tool/export/format.hpp"

namespace heapledger::exports {
namespace {

std::string massif_of(const profile& p) {
  std::string text;
  write_massif(p, {}, [&](std::string_view piece) { text += piece; });
  return text;
}

// At 250 ms all held 1000 bytes, of which one stack's 600 are known; at 500 ms the stacks were read later than the
// total.
TEST(export_massif, a_tree_of_a_moment_has_all_that_was_held) {
  sample::profile_builder builder;
  builder.stack({{"load", "a.cpp", 1}, {"main", "a.cpp", 9}},
                {.allocations = 1, .allocated_bytes = 600, .peak_bytes = 600});
  builder.stack({{"burst", "a.cpp", 2}, {"main", "a.cpp", 9}},
                {.allocations = 1, .allocated_bytes = 900, .peak_bytes = 900});
  auto& p = builder.edit();
  p.process.duration_ns = 1'000'000'000;
  p.peak.time_ns = 900'000'000;
  p.timeline = {{250'000'000, 1000, 2, 2, 0}, {500'000'000, 600, 1, 2, 0}};
  p.stack_timeline = {{0, 250'000'000, 600},
                      {0, 500'000'000, 600},
                      {0, 900'000'000, 600},
                      {0, 1'000'000'000, 600},
                      {1, 500'000'000, 100}};
  const auto text = massif_of(builder.build());
  const auto at_250 = text.find("time=250\nmem_heap_B=1000\n"), at_500 = text.find("time=500\nmem_heap_B=700\n");
  ASSERT_NE(at_250, std::string::npos) << text;
  ASSERT_NE(at_500, std::string::npos) << text;
  const auto first = text.substr(at_250, at_500 - at_250);
  EXPECT_NE(first.find("\nn2: 1000 (heap"), std::string::npos) << first;
  EXPECT_NE(first.find("\n n1: 600 "), std::string::npos) << first;
  EXPECT_NE(first.find("\n n0: 400 in 1 place, below"), std::string::npos) << first;
  EXPECT_NE(text.find("\nn2: 700 (heap", at_500), std::string::npos) << text;
}

}  // namespace
}  // namespace heapledger::exports

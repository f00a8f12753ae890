#include <heapledger/expect_gtest.hpp>

TEST(expectations, measured) {
  const auto nothing = heapledger::measure([] {});
  EXPECT_TRUE(nothing.measured) << nothing.why_unmeasured;
  EXPECT_TRUE(heapledger::allocates_nothing([] {}));
}

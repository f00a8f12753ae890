// The assertions of expect.hpp for GoogleTest and GoogleMock:
//
//     EXPECT_TRUE(heapledger::allocates_nothing([&] { parse(line); }));
//     EXPECT_TRUE(heapledger::allocates_at_most({.allocations = 3}, [&] { load(file); }));
//     EXPECT_THAT(heapledger::measure([&] { load(file); }), heapledger::AllocatesAtMost({.peak_bytes = 4096}));
//     EXPECT_THAT(heapledger::measure([&] { parse(line); }), heapledger::AllocatesNothing());
//
// A failure names the stacks that allocated. Where nothing can be measured they hold; what fails there is
//
//     EXPECT_TRUE(heapledger::measure([] {}).measured);
#pragma once

#include <gtest/gtest.h>
#include <heapledger/expect.hpp>
#if __has_include(<gmock/gmock.h>)
#include <gmock/gmock.h>
#endif

namespace heapledger {

inline testing::AssertionResult as_assertion(const expectation& of) {
  const enter outside(scope::process());
  if (!of.met) return testing::AssertionFailure() << of.text;
  return testing::AssertionSuccess() << (of.measured ? "as expected" : of.text);
}

template <class F>
testing::AssertionResult allocates_at_most(const allocation_limits& most, F&& f) {
  return as_assertion(expect_at_most(most, std::forward<F>(f)));
}
template <class F>
testing::AssertionResult allocates_nothing(F&& f) {
  return as_assertion(expect_no_allocations(std::forward<F>(f)));
}

#if __has_include(<gmock/gmock.h>)
// Of what measure() returns, so that the code runs once however often it is looked at.
class allocates_matcher {
 public:
  using is_gtest_matcher = void;
  explicit allocates_matcher(const allocation_limits& most) : most_(most) {}

  bool MatchAndExplain(const measurement& of, std::ostream* out) const {
    const expectation result = check(of, most_);
    if (!result.text.empty() && out != nullptr) *out << "\n" << result.text;
    return result.met;
  }
  void DescribeTo(std::ostream* out) const {
    *out << "allocates";
    const char* between = " at most ";
    const auto say = [&](std::uint64_t limit, const char* what) {
      if (limit == unlimited) return;
      *out << between << limit << what;
      between = ", ";
    };
    say(most_.bytes, " bytes");
    say(most_.allocations, " times");
    say(most_.peak_bytes, " bytes at once");
  }
  void DescribeNegationTo(std::ostream* out) const {
    *out << "not: ";
    DescribeTo(out);
  }

 private:
  allocation_limits most_;
};

inline testing::Matcher<const measurement&> AllocatesAtMost(const allocation_limits& most) {
  return allocates_matcher(most);
}
inline testing::Matcher<const measurement&> AllocatesNothing() {
  return allocates_matcher({.bytes = 0, .allocations = 0});
}
inline void PrintTo(const measurement& of, std::ostream* out) {
  if (!of.measured) {
    *out << "not measured";
    return;
  }
  *out << of.used.allocations << " allocations of " << of.used.allocated_bytes << " bytes, at most "
       << of.used.peak_bytes << " at once";
}
#endif

}  // namespace heapledger

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <limits>

#include "full_profile.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger {
namespace {

// The same cases in every run, unless RC_PARAMS asks for others.
const int same_cases = setenv("RC_PARAMS", "seed=20261121 max_success=300", 0);

profile there_and_back(const profile& p) {
  return format::decode(format::encode(p));
}

TEST(profile_round_trip, every_field_of_the_sample) {
  EXPECT_EQ(there_and_back(full_profile()), full_profile());
}

TEST(profile_round_trip, empty) {
  EXPECT_EQ(there_and_back(profile{}), profile{});
}

TEST(profile_round_trip, every_ending) {
  for (const ending ended : {ending::exited, ending::signaled, ending::running, ending::lost}) {
    profile p;
    p.process.ended = ended;
    EXPECT_EQ(there_and_back(p).process.ended, ended);
  }
}

TEST(profile_round_trip, optional_zero_is_not_absent) {
  profile p;
  p.process.exit_code = 0;
  p.peak.time_ns = 0;
  p.memory = memory_map{};
  EXPECT_EQ(there_and_back(p), p);
  p.process.exit_code = -1;
  EXPECT_EQ(there_and_back(p), p);
}

TEST(profile_round_trip, elements_of_default_values_are_kept) {
  profile p;
  p.process.command = {"", ""};
  p.strings = {"", ""};
  p.frames.resize(2);
  p.modules.resize(2);
  p.locations.resize(2);
  p.nodes.resize(2);
  p.stacks.resize(2);
  p.stacks[1].scope = {"", ""};
  p.threads.resize(2);
  p.sizes.resize(2);
  p.timeline.resize(2);
  p.errors.resize(2);
  EXPECT_EQ(there_and_back(p), p);
}

TEST(profile_round_trip, largest_values) {
  profile p = full_profile();
  p.process.pid = UINT32_MAX;
  p.modules[0].end = UINT64_MAX;
  p.locations[0].address = UINT64_MAX;
  p.locations[1].address = 0;
  p.locations[2].address = UINT64_MAX;
  p.frames[0].line = UINT32_MAX;
  p.stacks[0].id = UINT32_MAX;
  p.stacks[1].id = 0;
  p.stacks[2].count.allocated_bytes = std::uint64_t{1} << 58;
  p.stacks[3].count.freed_bytes = std::uint64_t{1} << 58;
  p.stacks[3].count.peak_bytes = -(std::int64_t{1} << 58);
  p.threads[0].allocations = UINT64_MAX;
  p.timeline[1].allocations = UINT64_MAX;
  p.timeline[2].rss_bytes = UINT64_MAX;
  p.profiler.losses["x"] = UINT64_MAX;
  EXPECT_EQ(there_and_back(p), p);
}

// Random profiles. Every index is in range, as check() demands; everything else is arbitrary.
template <class Integer>
Integer any(Integer from = std::numeric_limits<Integer>::min(), Integer to = std::numeric_limits<Integer>::max()) {
  if (from == std::numeric_limits<Integer>::min() && to == std::numeric_limits<Integer>::max()) {
    return *rc::gen::arbitrary<Integer>();
  }
  return to == std::numeric_limits<Integer>::max() ? *rc::gen::inRange<Integer>(from, to)
                                                   : *rc::gen::inRange<Integer>(from, static_cast<Integer>(to + 1));
}
bool any_flag() {
  return *rc::gen::arbitrary<bool>();
}
std::string any_text() {
  return *rc::gen::arbitrary<std::string>();
}
std::size_t any_size() {
  return any<std::size_t>(0, 12);
}
std::int64_t any_ns() {
  return any<std::int64_t>(-(1LL << 61), 1LL << 61);
}
std::int64_t any_bytes() {
  return any<std::int64_t>(-(1LL << 50), 1LL << 50);
}
std::uint64_t any_count() {
  return any<std::uint64_t>(0, 1ULL << 50);
}
std::uint32_t any_index(std::size_t size, bool may_be_none) {
  const auto index = any<std::uint32_t>(0, static_cast<std::uint32_t>(may_be_none ? size : size - 1));
  return index == size ? none : index;
}
template <class T, class Make>
std::optional<T> maybe(Make make) {
  return any_flag() ? std::optional<T>(make()) : std::nullopt;
}
memory_map any_map() {
  return {any_ns(),    any_bytes(), any_bytes(), any_bytes(), any_bytes(),
          any_bytes(), any_bytes(), any_bytes(), any_bytes()};
}
template <class T, class Make>
std::vector<T> some(Make make) {
  std::vector<T> result(any_size());
  for (auto& element : result) element = make();
  return result;
}

profile any_profile() {
  using u32 = std::uint32_t;
  profile p;
  p.process = {any<u32>(),
               any<u32>(),
               any_text(),
               some<std::string>(any_text),
               any_ns(),
               any_ns(),
               static_cast<ending>(any<int>(0, 3)),
               maybe<int>([] { return any<int>(); }),
               maybe<int>([] { return any<int>(); }),
               any_flag(),
               any_text(),
               any<u32>(),
               any_text()};
  p.peak = {any<std::uint64_t>(), maybe<std::int64_t>(any_ns)};
  p.strings = some<std::string>(any_text);
  p.frames = some<frame_info>([&] {
    return frame_info{any_index(p.strings.size(), true), any_index(p.strings.size(), true), any<u32>()};
  });
  p.modules = some<module_info>([] {
    return module_info{
        any<std::uint64_t>(),       any<std::uint64_t>(), any<std::uint64_t>(), any_text(), any_text(), any_ns(),
        maybe<std::int64_t>(any_ns)};
  });
  p.locations = some<location>([&] {
    location place{any<std::uint64_t>(), any_index(p.modules.size(), true), {}, any_flag()};
    if (!p.frames.empty()) place.symbols = some<u32>([&] { return any_index(p.frames.size(), false); });
    return place;
  });
  p.nodes = {stack_node{}};
  for (std::size_t left = any_size(); left > 0; --left) {
    p.nodes.push_back({any_index(p.nodes.size(), false), any_index(p.locations.size(), true)});
  }
  p.stacks = some<stack_entry>([&] {
    return stack_entry{any<u32>(),
                       any_index(p.nodes.size(), false),
                       some<std::string>(any_text),
                       {any_count(), any_count(), any_count(), any_count(), any_count(), any_count(), any_bytes()}};
  });
  p.threads = some<thread_info>([] {
    return thread_info{any<u32>(),
                       any_text(),
                       any_ns(),
                       maybe<std::int64_t>(any_ns),
                       any<std::uint64_t>(),
                       any<std::uint64_t>(),
                       any<std::uint64_t>(),
                       any<std::uint64_t>()};
  });
  p.sizes = some<size_bucket>([] {
    return size_bucket{any<std::uint64_t>(), any<std::uint64_t>(), any<std::uint64_t>()};
  });
  p.timeline = some<timeline_point>([] {
    return timeline_point{any_ns(), any_bytes(), any_bytes(), any<std::uint64_t>(), any<std::uint64_t>()};
  });
  p.memory = maybe<memory_map>(any_map);
  p.memory_peak = maybe<memory_map>(any_map);
  p.errors = some<error_entry>([] { return error_entry{any_text(), any<u32>(), any<std::uint64_t>()}; });
  p.profiler = {
      any<std::uint64_t>(), any<std::uint64_t>(), any<std::uint64_t>(),
      any<std::uint64_t>(), any<std::uint64_t>(), any<std::uint64_t>(),
      any<std::uint64_t>(), any<std::uint64_t>(), *rc::gen::arbitrary<std::map<std::string, std::uint64_t>>()};
  p.symbolized = any_flag();
  return p;
}

TEST(profile_round_trip, any_profile) {
  EXPECT_TRUE(rc::check([] {
    const profile p = any_profile();
    RC_ASSERT(there_and_back(p) == p);
  }));
}

TEST(profile_round_trip, encoding_is_a_function_of_the_profile) {
  const std::string payload = format::encode(full_profile());
  EXPECT_EQ(format::encode(format::decode(payload)), payload);
}

}  // namespace
}  // namespace heapledger

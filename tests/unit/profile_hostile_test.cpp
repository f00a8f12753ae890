// Payloads that are valid protobuf and lie: each check of the decoder has a case that it alone refuses.
#include <gtest/gtest.h>

#include <functional>
#include <protozero/pbf_writer.hpp>

#include "full_profile.hpp"
#include "tool/profile/container.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger {
namespace {

using protozero::pbf_writer;
using numbers = std::vector<std::uint64_t>;

std::string refusal(const std::string& payload) {
  try {
    format::decode(payload);
    return "";
  } catch (const format::damage& damage) {
    return damage.what();
  }
}

std::string message(const std::function<void(pbf_writer&)>& fill) {
  std::string result;
  pbf_writer writer(result);
  fill(writer);
  return result;
}

std::string table(unsigned number, const std::vector<std::pair<unsigned, numbers>>& columns) {
  return message([&](pbf_writer& out) {
    out.add_message(number, message([&](pbf_writer& columns_out) {
                      for (const auto& [column, values] : columns) {
                        columns_out.add_packed_uint64(column, values.begin(), values.end());
                      }
                    }));
  });
}

constexpr unsigned frames = 5, locations = 7, nodes = 8, scopes = 9, stacks = 10;
std::uint64_t zigzag(std::int64_t value) {
  return protozero::encode_zigzag64(value);
}

std::string scope(const std::string& name, std::uint32_t parent) {
  return message([&](pbf_writer& out) {
    out.add_message(scopes, message([&](pbf_writer& entry) {
                      entry.add_bytes(1, name);
                      entry.add_uint32(2, parent);
                    }));
  });
}

TEST(profile_hostile, no_message) {
  EXPECT_EQ(refusal("\x0a"), "its contents are no valid protobuf message");
  EXPECT_EQ(refusal(std::string(20, '\xff')), "its contents are no valid protobuf message");
  EXPECT_EQ(refusal(std::string("\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11)),
            "its contents are no valid protobuf message");
}

TEST(profile_hostile, parent_not_before_its_child) {
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 0}}})), "stack node 1 has no parent before it");
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 2}}})), "an index is out of range");
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 1, 1}}})), "");
}

TEST(profile_hostile, the_root_has_no_location) {
  EXPECT_EQ(refusal(table(locations, {{1, {0}}}) + table(nodes, {{1, {0}}, {2, {zigzag(1)}}})),
            "stack node 0 has no parent before it");
}

TEST(profile_hostile, indices_outside_their_tables) {
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 1}}, {2, {0, zigzag(1)}}})), "stack node 1 points outside its table");
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 1}}, {2, {0, zigzag(-1)}}})), "an index is out of range");
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 1}}, {2, {0, zigzag(1LL << 40)}}})), "an index is out of range");
  EXPECT_EQ(refusal(table(locations, {{1, {0}}, {2, {1}}})), "location 0 points outside its table");
  EXPECT_EQ(refusal(table(locations, {{1, {0}}, {3, {1}}, {4, {0}}})), "location 0 points outside its table");
  EXPECT_EQ(refusal(table(frames, {{1, {zigzag(1)}}})), "frame 0 points outside its table");
  EXPECT_EQ(refusal(table(frames, {{1, {0}}, {2, {zigzag(1)}}})), "frame 0 points outside its table");
  EXPECT_EQ(refusal(table(stacks, {{1, {0}}})), "stack 0 points outside its table");
  EXPECT_EQ(refusal(table(nodes, {{1, {0}}}) + table(stacks, {{1, {0}}, {2, {zigzag(1)}}})),
            "stack 0 points outside its table");
}

TEST(profile_hostile, numbers_too_large_for_their_field) {
  EXPECT_EQ(refusal(table(frames, {{1, {0}}, {3, {1ULL << 32}}})), "a number is out of range");
  EXPECT_EQ(refusal(table(stacks, {{1, {zigzag(-1)}}})), "a number is out of range");
  EXPECT_EQ(refusal(message([](pbf_writer& out) {
              out.add_message(1, message([](pbf_writer& process) { process.add_uint64(1, 1ULL << 32); }));
            })),
            "a number is out of range");
  EXPECT_EQ(refusal(message([](pbf_writer& out) {
              out.add_message(1, message([](pbf_writer& process) { process.add_sint64(8, -(1LL << 40)); }));
            })),
            "a number is out of range");
}

TEST(profile_hostile, columns) {
  EXPECT_EQ(refusal(table(nodes, {{1, {0, 1}}, {2, {0}}})), "its contents are no valid protobuf message");
  EXPECT_EQ(refusal(table(nodes, {{1, {0}}, {2, {0, 0}}})), "the columns of a table differ in length");
  EXPECT_EQ(refusal(table(nodes, {{1, {0}}, {1, {0}}})), "a column occurs twice");
  EXPECT_EQ(refusal(message([](pbf_writer& out) {
              out.add_message(nodes, message([](pbf_writer& columns) { columns.add_uint64(1, 0); }));
            })),
            "a column is not packed");
}

TEST(profile_hostile, symbol_counts) {
  EXPECT_EQ(refusal(table(locations, {{1, {0}}, {3, {1}}})), "a location has more symbols than there are");
  EXPECT_EQ(refusal(table(locations, {{1, {0}}, {3, {1ULL << 31}}, {4, {0}}})),
            "a location has more symbols than there are");
  EXPECT_EQ(refusal(table(locations, {{1, {0}}, {3, {0}}, {4, {0}}})), "there are symbols that no location has");
}

TEST(profile_hostile, scopes) {
  const std::string root = table(nodes, {{1, {0}}});
  EXPECT_EQ(refusal(root + scope("a", 1)), "a scope has no parent before it");
  EXPECT_EQ(refusal(root + scope("a", 0) + table(stacks, {{1, {0}}, {3, {2}}})),
            "a stack is in a scope that does not exist");
  EXPECT_EQ(refusal(root + scope("a", 0) + table(stacks, {{1, {0}}, {3, {1}}})), "");
}

// A few kilobytes of compressed file could otherwise ask for terabytes.
TEST(profile_hostile, memory_is_bounded) {
  const char* const too_much = "its contents would take more memory than any real profile";
  std::string chain = table(nodes, {{1, {0}}});
  for (std::uint32_t i = 0; i < 2000; ++i) chain += scope("a scope with a name of some length", i);
  const numbers rows(20000, 0);
  EXPECT_EQ(refusal(chain + table(stacks, {{1, rows}, {3, numbers(20000, 2000)}})), too_much);
  EXPECT_EQ(refusal(table(stacks, {{1, numbers(14'000'000, 0)}})), too_much);
}

TEST(profile_hostile, scopes_nested_without_end) {
  const std::string root = table(nodes, {{1, {0}}});
  std::string chain;
  for (std::uint32_t i = 0; i < 64; ++i) chain += scope("s", i);
  EXPECT_EQ(refusal(root + chain + table(stacks, {{1, {0}}, {3, {64}}})), "");
  chain += scope("s", 64);
  EXPECT_EQ(refusal(root + chain + table(stacks, {{1, {0}}, {3, {65}}})),
            "its scopes are nested deeper than any that heapledger writes");
}

// 400 bytes of compressed file: a chain of a million nodes, and a hundred thousand stacks at its end.
TEST(profile_hostile, many_stacks_on_a_deep_tree) {
  numbers parents(1'000'001, 1);
  parents[0] = 0;
  numbers leaves(100'000, 0);
  leaves[0] = zigzag(1'000'000);
  EXPECT_EQ(refusal(table(nodes, {{1, parents}}) + table(stacks, {{1, numbers(100'000, 0)}, {2, leaves}})),
            "its stacks together are longer than anything can walk");
  leaves.resize(1'000);
  EXPECT_EQ(refusal(table(nodes, {{1, parents}}) + table(stacks, {{1, numbers(1'000, 0)}, {2, leaves}})), "");
}

// What cannot be read again is not written: whoever wrote it would take the source away.
TEST(profile_hostile, the_writer_has_the_budget_of_the_reader) {
  const auto bytes = format::memory_bytes(full_profile());
  const std::string payload = format::encode(full_profile(), bytes);
  EXPECT_EQ(format::decode(payload, bytes), full_profile());
  EXPECT_THROW(format::decode(payload, bytes - 1), format::damage);
  EXPECT_THROW(format::encode(full_profile(), bytes - 1), format::damage);
}

TEST(profile_hostile, counters_that_overflow_when_added_up) {
  const std::string root = table(nodes, {{1, {0}}});
  const std::uint64_t most = 1ULL << 59;
  const char* const expected = "the counters of its stacks add up to more than any program can do";
  for (const unsigned column : {4U, 5U, 8U, 9U}) {
    EXPECT_EQ(refusal(root + table(stacks, {{1, {0}}, {column, {most}}})), "") << column;
    EXPECT_EQ(refusal(root + table(stacks, {{1, {0, 0}}, {column, {most, 1}}})), expected) << column;
    EXPECT_EQ(refusal(root + table(stacks, {{1, {0, 0}}, {column, {1, UINT64_MAX}}})), expected) << column;
  }
  for (const unsigned column : {6U, 7U}) {  // allocations 0, so frees are minus what stands here
    EXPECT_EQ(refusal(root + table(stacks, {{1, {0}}, {column, {zigzag(1)}}})), expected) << column;
    EXPECT_EQ(refusal(root + table(stacks, {{1, {0}}, {column, {zigzag(-1)}}})), "") << column;
  }
  EXPECT_EQ(refusal(root + table(stacks, {{1, {0}}, {10, {zigzag(INT64_MIN)}}})), expected);
  EXPECT_EQ(refusal(root + table(stacks, {{1, {0, 0}}, {10, {zigzag(-(1LL << 59)), zigzag(-1)}}})), expected);
}

TEST(profile_hostile, times_and_sizes_out_of_range) {
  const auto refused = [](auto change) {
    profile p = full_profile();
    change(p);
    try {
      format::check(p);
      return std::string();
    } catch (const format::damage& damage) {
      return std::string(damage.what());
    }
  };
  EXPECT_EQ(refused([](profile&) {}), "");
  EXPECT_EQ(refused([](profile& p) { p.process.start_realtime_ns = INT64_MIN; }),
            "a number of the process is out of range");
  EXPECT_EQ(refused([](profile& p) { p.process.duration_ns = INT64_MAX; }), "a number of the process is out of range");
  EXPECT_EQ(refused([](profile& p) { p.peak.time_ns = INT64_MAX; }), "a number of the process is out of range");
  EXPECT_EQ(refused([](profile& p) { p.modules[0].loaded_ns = INT64_MAX; }), "a number of a module is out of range");
  EXPECT_EQ(refused([](profile& p) { p.modules[0].unloaded_ns = INT64_MAX; }), "a number of a module is out of range");
  EXPECT_EQ(refused([](profile& p) { p.threads[0].start_ns = INT64_MAX; }), "a number of a thread is out of range");
  EXPECT_EQ(refused([](profile& p) { p.threads[0].end_ns = INT64_MAX; }), "a number of a thread is out of range");
  EXPECT_EQ(refused([](profile& p) { p.timeline[0].time_ns = INT64_MAX; }), "a number of the timeline is out of range");
  EXPECT_EQ(refused([](profile& p) { p.timeline[0].live_bytes = 1LL << 60; }),
            "a number of the timeline is out of range");
  EXPECT_EQ(refused([](profile& p) { p.stack_timeline[0].time_ns = INT64_MIN; }),
            "a number of a stack's moment is out of range");
  EXPECT_EQ(refused([](profile& p) { p.stack_timeline[1].live_bytes = 1LL << 60; }),
            "a number of a stack's moment is out of range");
  EXPECT_EQ(refused([](profile& p) { p.stack_timeline[1].live_bytes = p.stack_timeline[2].live_bytes = 1LL << 59; }),
            "its stacks held more than any program can do");
  EXPECT_EQ(refused([](profile& p) { p.stack_timeline[1].stack = 77; }), "a stack's moment 1 points outside its table");
  EXPECT_EQ(refused([](profile& p) { std::swap(p.stack_timeline[0], p.stack_timeline[1]); }),
            "the moments of its stacks are not in order");
  EXPECT_EQ(refused([](profile& p) { p.stack_timeline[1] = p.stack_timeline[0]; }),
            "the moments of its stacks are not in order");
  EXPECT_EQ(refused([](profile& p) { p.leaks->entries.at(0).bytes_per_hour = INT64_MAX; }),
            "a number of a leak is out of range");
  const std::string mapped = "the numbers of a mapping's stack are not possible";
  EXPECT_EQ(refused([](profile& p) { p.mapped->sites[0].mapped_bytes = p.mapped->sites[1].mapped_bytes = 1ULL << 58; }),
            "");
  EXPECT_EQ(
      refused([](profile& p) { p.mapped->sites[0].mapped_bytes = p.mapped->sites[1].mapped_bytes = (1ULL << 58) + 1; }),
      mapped);
  EXPECT_EQ(refused([](profile& p) { p.mapped->sites[0].most_resident_bytes = -1; }), mapped);
  EXPECT_EQ(refused([](profile& p) { p.mapped->sites[0].resident_bytes = INT64_MAX; }), mapped);
  EXPECT_EQ(refused([](profile& p) { p.mapped->sites[0].ranges = UINT64_MAX; }), mapped);
  EXPECT_EQ(refused([](profile& p) { p.mapped->sites[0].unmapped_bytes = p.mapped->sites[0].mapped_bytes + 1; }),
            "more was unmapped of a mapping's stack than it had mapped");
  EXPECT_EQ(refused([](profile& p) { p.mapped->seen_ns = INT64_MAX; }), "a number of what was mapped is out of range");
  EXPECT_EQ(refused([](profile& p) { p.memory->other_bytes = INT64_MIN; }),
            "a number of the memory map is out of range");
  EXPECT_EQ(refused([](profile& p) { p.memory_peak->time_ns = INT64_MAX; }),
            "a number of the memory map is out of range");
}

// What a later version may add: fields, columns, and values of an enumeration.
TEST(profile_hostile, unknown_fields_are_skipped) {
  const std::string payload = format::encode(full_profile()) + message([](pbf_writer& out) {
                                out.add_uint64(1000, 1);
                                out.add_bytes(1001, "text");
                                out.add_fixed64(1002, 1);
                                out.add_fixed32(1003, 1);
                                out.add_uint64(1, 5);  // known number, unknown type
                                out.add_message(1, message([](pbf_writer& process) { process.add_bytes(99, "x"); }));
                              });
  EXPECT_EQ(format::decode(payload), full_profile());
  EXPECT_EQ(refusal(table(nodes, {{1, {0}}, {31, {5, 5, 5}}, {200, {7}}})), "");
  const std::string ending_of_tomorrow = message(
      [](pbf_writer& out) { out.add_message(1, message([](pbf_writer& process) { process.add_uint64(7, 77); })); });
  EXPECT_EQ(format::decode(ending_of_tomorrow).process.ended, ending::lost);
}

}  // namespace
}  // namespace heapledger

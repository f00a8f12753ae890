// Marks and snapshots of a segment and of the file beside it, good and damaged.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "segment_builder.hpp"
#include "temporary_folder.hpp"
#include "tool/collect/markers.hpp"
#include "tool/collect/outside_markers.hpp"
#include "tool/collect/segment.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"
#include "wire/snapshot.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

wire::marker named(std::string_view name, std::uint64_t time_ns, std::int64_t live_bytes = 0) {
  wire::marker marker{};
  marker.kind = wire::marker_kind::mark;
  marker.monotonic_ns = time_ns;
  marker.live_bytes = live_bytes;
  name.copy(marker.name, sizeof marker.name - 1);
  return marker;
}

// Of account 1, then of account 2.
std::string books(std::uint64_t first, std::uint64_t second) {
  char bytes[2 * wire::snapshot_entry_limit];
  const auto put = [](char* at, std::uint64_t allocations, std::uint64_t frees) {
    return wire::put_entry(at, 1,
                           {.allocations = allocations,
                            .allocated_bytes = 8 * allocations,
                            .frees = frees,
                            .freed_bytes = 8 * frees,
                            .temporaries = 0,
                            .reallocations = 0,
                            .peak_bytes = 0});
  };
  const char* const at = put(put(bytes, first, 0), second, 1);
  return {bytes, static_cast<std::size_t>(at - bytes)};
}

class collect_markers : public ::testing::Test {
 protected:
  collect_markers() {
    for (const std::uint64_t count : {10, 20}) {
      const auto account = builder.add_account(builder.add_node(0, 0x1000 * count));
      builder.accounts[account].allocations = count;
      builder.accounts[account].allocated_bytes = 8 * count;
    }
  }

  void snapshot(std::string_view name, std::uint64_t time_ns, const std::string& bytes) {
    auto marker = named(name, time_ns);
    marker.kind = wire::marker_kind::snapshot;
    marker.snapshot_offset = builder.snapshots.size();
    marker.snapshot_bytes = bytes.size();
    builder.snapshots += bytes;
    builder.markers.push_back(marker);
  }
  profile collected() {
    const memory_file file(builder.bytes());
    auto copy = copy_segment(segment_file(file.path()));
    copy.outside_markers = outside;
    auto result = to_profile(copy);
    format::check(result);
    return result;
  }
  static std::vector<std::string> names(const profile& p) {
    std::vector<std::string> all;
    for (const auto& marker : p.markers) all.push_back(marker.name + (marker.snapshot ? "*" : ""));
    return all;
  }
  static std::string file_of(const wire::marker& marker, const std::string& bytes = {}) {
    wire::marker written = marker;
    written.snapshot_bytes = bytes.size();
    return std::string(reinterpret_cast<const char*>(&written), sizeof written) + bytes;
  }

  using strings = std::vector<std::string>;
  segment_builder builder;
  std::string outside;
};

TEST_F(collect_markers, come_in_the_order_of_time_wherever_they_were_made) {
  builder.markers.push_back(named("late", 3'000'000'000, 300));
  builder.markers.push_back(named("early", 1'500'000'000, 100));
  builder.markers.push_back({});  // being written
  outside = file_of(named("", 2'000'000'000)) + file_of(named("end", 4'000'000'000));
  const auto result = collected();
  EXPECT_EQ(names(result), (strings{"early", "at-1.000s", "late", "end"}));
  EXPECT_EQ(result.markers[0].time_ns, 500'000'000);
  EXPECT_EQ(result.markers[2].live_bytes, 300);
}

TEST_F(collect_markers, a_snapshot_is_the_difference_to_the_one_before) {
  snapshot("A", 2'000'000'000, books(1, 2));
  snapshot("B", 3'000'000'000, books(1, 5));
  outside = file_of(named("C", 4'000'000'000), books(4, 5));
  const auto result = collected();
  EXPECT_EQ(names(result), (strings{"A*", "B*", "C*"}));
  ASSERT_EQ(result.snapshots.size(), 3U);
  EXPECT_EQ(result.snapshots[0].changes.size(), 2U);
  ASSERT_EQ(result.snapshots[1].changes.size(), 1U);
  EXPECT_EQ(result.snapshots[1].changes[0].by.allocations, 3U);
  ASSERT_EQ(result.snapshots[2].changes.size(), 1U);
  EXPECT_EQ(result.snapshots[2].changes[0].by.allocated_bytes, 24U);
}

TEST_F(collect_markers, damaged_books_leave_a_mark) {
  snapshot("cut", 2'000'000'000, books(1, 2).substr(0, 5));
  snapshot("endless number", 3'000'000'000, std::string(40, '\xff'));
  snapshot("no such account", 4'000'000'000, books(1, 2) + books(1, 2) + books(1, 2));
  snapshot("good", 5'000'000'000, books(3, 4));
  snapshot("beyond the end", 6'000'000'000, books(1, 2));
  builder.markers.back().snapshot_bytes += 1;
  EXPECT_EQ(names(collected()), (strings{"cut", "endless number", "no such account", "good*", "beyond the end"}));
}

TEST_F(collect_markers, snapshots_without_room_are_marks_and_counted) {
  snapshot("A", 2'000'000'000, books(1, 2));
  snapshot("B", 3'000'000'000, books(2, 3));
  builder.markers.push_back(named("mark", 4'000'000'000));
  snapshot("C", 5'000'000'000, books(2, 4));
  auto result = collected();
  const memory_file file(builder.bytes());
  result.markers.clear();
  result.snapshots.clear();
  add_markers(copy_segment(segment_file(file.path())), {0, 1, 2}, result, 3 * sizeof(stack_change));
  EXPECT_EQ(names(result), (strings{"A*", "B", "mark", "C"}));
  EXPECT_EQ(result.profiler.losses["snapshots_full"], 2U);
  format::check(result);
}

TEST_F(collect_markers, no_two_snapshots_share_bytes) {
  snapshot("A", 2'000'000'000, books(1, 2));
  for (int i = 0; i < 3; ++i) builder.markers.push_back(builder.markers.back());
  EXPECT_EQ(names(collected()), (strings{"A*", "A", "A", "A"}));
}

TEST_F(collect_markers, impossible_numbers_are_left_out) {
  builder.markers.push_back(named("too much", 2'000'000'000, INT64_MAX));
  builder.markers.push_back(named("long before the start", 0));
  builder.markers.push_back(named("never", UINT64_MAX));
  const auto result = collected();
  EXPECT_EQ(result.markers.size(), 2U);
}

TEST_F(collect_markers, a_file_that_is_being_written_is_read_as_far_as_it_is_whole) {
  const auto whole = file_of(named("A", 2'000'000'000), books(1, 2)) + file_of(named("B", 3'000'000'000), books(2, 3));
  for (std::size_t bytes = 0; bytes <= whole.size(); ++bytes) {
    outside = whole.substr(0, bytes);
    const auto found = names(collected());
    const bool has_first = bytes >= sizeof(wire::marker) + books(1, 2).size();
    EXPECT_EQ(found.size(), bytes == whole.size() ? 2U : has_first ? 1U : 0U) << bytes;
  }
}

// Whoever may write to the folder may have named any file of root's like that.
TEST_F(collect_markers, a_file_of_another_user_is_neither_given_away_nor_written_to_nor_read) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
  constexpr uid_t somebody = 65534;
  const temporary_folder folder;
  const std::string path = folder / "1-1.hls", marks = outside_markers_path(path);
  const auto write = [](const std::string& to, const std::string& bytes) { std::ofstream(to) << bytes; };
  const auto called = [](const char* name) { return [name](const wire::marker&) { return std::string(name); }; };
  const auto owner_of = [](const std::string& file) {
    struct stat status {};
    return ::lstat(file.c_str(), &status) == 0 ? status.st_uid : uid_t{1};
  };
  write(path, builder.bytes());
  ASSERT_EQ(::chown(path.c_str(), somebody, somebody), 0);
  const segment_file segment(path);
  const auto secret = file_of(named("secret", 2'000'000'000), {});
  write(marks, secret);
  EXPECT_THROW(add_outside_marker(segment, called("A"), false), input_error);
  EXPECT_EQ(owner_of(marks), ::geteuid());
  EXPECT_EQ(std::filesystem::file_size(marks), secret.size());
  EXPECT_EQ(read_outside_markers(segment), "");

  std::filesystem::remove(marks);
  add_outside_marker(segment, called("A"), false);
  add_outside_marker(segment, called("B"), false);
  EXPECT_EQ(owner_of(marks), somebody);
  EXPECT_EQ(read_outside_markers(segment).size(), 2 * sizeof(wire::marker));
}

}  // namespace
}  // namespace heapledger::collect

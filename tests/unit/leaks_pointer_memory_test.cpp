// Which mappings the second witness reads, and how.
#include "tool/leaks/pointer_memory.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/sysmacros.h>

#include "segment_builder.hpp"

namespace heapledger::leaks {
namespace {

using heapledger::testing::memory_file;
using heapledger::testing::segment_builder;

std::string mapping_text(std::string_view range, std::string_view rights, std::uint64_t inode, std::string_view name,
                         std::string_view sizes, std::string_view flags = "rd wr mr mw me ac sd") {
  return fmt::format("{} {} 00000000 00:01 {}      {}\n{}VmFlags: {}\n", range, rights, inode, name, sizes, flags);
}

std::vector<std::uint64_t> starts(const std::vector<address_range>& ranges) {
  std::vector<std::uint64_t> found;
  for (const auto& range : ranges) found.push_back(range.start);
  return found;
}

using addresses = std::vector<std::uint64_t>;

constexpr std::string_view written = "Rss:  4 kB\nAnonymous:  4 kB\n";
constexpr std::string_view read_only = "Rss:  4 kB\nAnonymous:  0 kB\n";

TEST(leaks_pointer_memory, is_all_that_the_program_has_written) {
  const auto parts = sort_pointer_memory(
      mapping_text("1000-2000", "rw-p", 0, "", "") + mapping_text("2000-3000", "rw-p", 7, "/dev/zero", "") +
          mapping_text("3000-4000", "rw-p", 0, "", "", "rd wr dd") + mapping_text("4000-5000", "r--p", 0, "", written) +
          mapping_text("5000-6000", "r--p", 8, "/lib/x.so", read_only) +
          mapping_text("6000-7000", "r--p", 8, "/lib/x.so", written) +
          mapping_text("7000-8000", "---p", 0, "", written) + mapping_text("8000-9000", "---p", 0, "", read_only) +
          mapping_text("9000-a000", "rw-s", 9, "/table", read_only) +
          mapping_text("a000-b000", "rw-s", 9, "/table", "Rss:  0 kB\n") +
          mapping_text("b000-c000", "---s", 9, "/table", read_only) +
          mapping_text("c000-d000", "r--p", 0, "[vvar]", written, "rd mr pf io") +
          mapping_text("d000-e000", "---p", 0, "", "Anonymous:  0 kB\nSwap:  4 kB\n"),
      {1, 1}, nullptr);
  EXPECT_EQ(starts(parts.plain), addresses({0x1000, 0x2000, 0x3000}));
  EXPECT_EQ(starts(parts.sparse), addresses({0x4000, 0x6000, 0x9000}));
  EXPECT_EQ(starts(parts.locked), addresses({0x7000, 0xb000, 0xd000}));
  EXPECT_EQ(parts.obstacle, "");
}

TEST(leaks_pointer_memory, is_nothing_of_ours) {
  memory_file file{segment_builder().bytes()};
  const collect::segment_file segment(file.path());
  const auto ours = fmt::format("1000-2000 rw-s 00000000 {:02x}:{:02x} {}  /dev/shm/x/1-0.hls\nRss: 4 kB\n",
                                major(segment.device()), minor(segment.device()), segment.inode());
  const std::string own_flags = "rd wr nr dd";
  const auto unnamed = mapping_text("3000-4000", "rw-p", 0, "", written, own_flags);
  EXPECT_EQ(starts(sort_pointer_memory(ours, {1, 1}, &segment).sparse), addresses());
  EXPECT_EQ(starts(sort_pointer_memory(ours, {1, 1}, nullptr).sparse), addresses({0x1000}));
  EXPECT_EQ(starts(sort_pointer_memory(unnamed, {1, 1}, nullptr).plain), addresses());
  const auto named = mapping_text("2000-3000", "rw-p", 0, "[anon:heapledger stacks]", written, own_flags);
  EXPECT_EQ(starts(sort_pointer_memory(named + unnamed, {1, 1}, nullptr).plain), addresses({0x3000}))
      << "where the kernel names memory, what has no name is the program's";
}

TEST(leaks_pointer_memory, says_where_some_of_it_cannot_be_seen) {
  const auto swapped = mapping_text("1000-2000", "rw-s", 9, "/table", "Rss:  4 kB\nSwap:  4 kB\n");
  EXPECT_NE(sort_pointer_memory(swapped, {1, 1}, nullptr).obstacle, "");
}

}  // namespace
}  // namespace heapledger::leaks

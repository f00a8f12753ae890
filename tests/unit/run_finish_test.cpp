// Profiles that are written while the program still runs.
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

#include "segment_builder.hpp"
#include "temporary_folder.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/profile/read.hpp"

namespace heapledger::cli {
namespace {

using testing::segment_builder;

TEST(profile_writer, writes_what_ended_early_in_rounds_and_loses_nothing) {
  constexpr pid_t root = 1;
  constexpr pid_t last = 7;
  constexpr pid_t damaged = 5;
  const temporary_folder folder;
  collect::output_names names(folder / "%p.hlp", false);
  profile_writer writer(names, root);
  std::size_t read = 0;
  writer.read_by([&](const auto&, const profile&) { ++read; });
  std::list<collect::process_watch> round;
  for (pid_t pid = 2; pid <= last; ++pid) {
    segment_builder builder;
    const auto account = builder.add_account(builder.add_node(0, 0x1000));
    builder.accounts[account].allocations = static_cast<std::uint64_t>(pid);
    builder.header.pid = static_cast<std::uint32_t>(pid);
    if (pid == damaged) builder.header.version = 0;
    const auto path = folder / (std::to_string(pid) + "-1.hls");
    std::ofstream(path, std::ios::binary) << builder.bytes();
    round.emplace_back(path, pid, 1, false).end(collect::process_watch::state::ended, 0, {});
    if (pid % 2 == 1) writer.write_early(std::exchange(round, {}));
  }
  writer.write_all({}, {});
  EXPECT_FALSE(writer.is_busy());
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"2.hlp", "3.hlp", "4.hlp", "5-1.hls", "6.hlp", "7.hlp"}));
  EXPECT_EQ(writer.written().size(), 5U);
  EXPECT_EQ(read, 5U);
  ASSERT_EQ(writer.failed().size(), 1U);
  EXPECT_EQ(writer.failed()[0].segment, folder / "5-1.hls");
  EXPECT_EQ(read_profile(folder / "6.hlp").totals().allocations, 6U);
}

// Written early or at the end, a profile has the same name: it is not kept for a root that --only leaves out.
TEST(profile_writer, a_root_without_a_profile_takes_no_name) {
  for (const char* only : {"", "cc1*", "*unit_tests"}) {
    const temporary_folder folder;
    collect::output_names names(folder / "out.hlp", false);
    profile_writer writer(names, ::getpid());
    if (*only != 0) writer.count_only({"other", only});
    std::list<collect::process_watch> ended;
    segment_builder builder;
    builder.accounts[builder.add_account(builder.add_node(0, 0x1000))].allocations = 1;
    builder.header.pid = 7;
    const auto path = folder / "7-1.hls";
    std::ofstream(path, std::ios::binary) << builder.bytes();
    ended.emplace_back(path, 7, 1, false).end(collect::process_watch::state::ended, 0, {});
    writer.write_early(std::move(ended));
    writer.write_all({}, {});
    EXPECT_EQ(folder.names(), std::vector<std::string>{*only == 'c' ? "out.hlp" : "out.7.hlp"}) << only;
  }
}

TEST(most_mapped_bytes, is_what_was_resident_or_could_have_been) {
  profile p;
  EXPECT_EQ(most_mapped_bytes(p), 0);
  p.mapped = mapped_info{.peak_bytes = 1000, .sites = {}};
  EXPECT_EQ(most_mapped_bytes(p), 0) << "nothing is known to have been resident";
  p.timeline = {{.rss_bytes = 300}, {.rss_bytes = 200}};
  EXPECT_EQ(most_mapped_bytes(p), 300);
  p.mapped->sites = {{.kind = "anonymous", .most_resident_bytes = 70}, {.kind = "file", .most_resident_bytes = 5}};
  p.mapped->seen_ns = 1;
  EXPECT_EQ(most_mapped_bytes(p), 75);
}

}  // namespace
}  // namespace heapledger::cli

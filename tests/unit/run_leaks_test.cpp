// The leak watch of a run, where the session's folder holds what the probe did not make.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>

#include "segment_builder.hpp"
#include "temporary_folder.hpp"
#include "tool/cli/run_leaks.hpp"
#include "tool/collect/process.hpp"

namespace heapledger::cli {
namespace {

TEST(run_leaks, a_process_that_does_not_use_the_segment_is_left_alone) {
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::pause();
    ::_exit(0);
  }
  for (const bool says_so : {true, false}) {
    testing::segment_builder builder;
    builder.header.pid = static_cast<std::uint32_t>(says_so ? stranger : ::getpid());
    builder.header.start_monotonic_ns = collect::monotonic_ns();
    const temporary_folder folder;
    const auto path = folder / fmt::format("{}-0.hls", stranger);
    std::ofstream(path, std::ios::binary) << builder.bytes();
    const collect::process_watch image(path, stranger, 0, false);
    ASSERT_NE(image.segment(), nullptr);
    run_leak_watch watch({}, true);
    watch.look(image, collect::monotonic_ns());
    profile result;
    watch.complete(image, result);
    ASSERT_TRUE(result.leaks.has_value());
    EXPECT_NE(result.leaks->obstacle.find("does not use this segment"), std::string::npos) << result.leaks->obstacle;
  }
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
}

// A process that ended before anybody looked, and left so many blocks at one place.
struct short_run {
  int status = 0;
  std::string said;
  std::optional<leak_info> found;
};

short_run run_that_leaves(std::uint64_t blocks, const leak_watch_options& options, int program_status = 0) {
  const temporary_folder folder;
  const auto path = folder / "7-0.hls";
  const collect::process_watch image(path, 7, 0, false);
  run_leak_watch watch(options, true);
  profile p;
  p.nodes.resize(2);
  p.stacks = {{.id = 1, .node = 1, .scope = {}, .count = {.allocations = blocks, .allocated_bytes = 100 * blocks}}};
  watch.complete(image, p);
  watch.read({.file = "a.hlp", .program = "a", .exe = {}}, p);
  short_run result;
  ::testing::internal::CaptureStderr();
  result.status = watch.finish(false, program_status);
  result.said = ::testing::internal::GetCapturedStderr();
  result.found = p.leaks;
  return result;
}

TEST(run_leaks, a_run_that_was_too_short_to_tell_does_not_look_like_no_leak) {
  leak_watch_options gate;
  gate.error_exitcode = 42;
  const auto run = run_that_leaves(1000, gate);
  EXPECT_EQ(run.status, exit_failure);
  EXPECT_TRUE(run.said.starts_with("heapledger: no leak found, but nothing was watched: too short to tell. "))
      << run.said;
  EXPECT_NE(run.said.find("--leaks-suspicious"), std::string::npos) << run.said;
  EXPECT_TRUE(run.said.ends_with("; what was never freed: heapledger report --by live a.hlp\n")) << run.said;
  ASSERT_TRUE(run.found.has_value());
  EXPECT_FALSE(untold_because(*run.found).empty());
  EXPECT_EQ(run_that_leaves(1000, gate, 3).status, 3) << "the program's own status says more";
  EXPECT_EQ(run_that_leaves(1000, {}).status, 0) << "nobody asked";
}

TEST(run_leaks, a_short_run_that_left_nothing_that_can_be_a_leak_is_no_error) {
  leak_watch_options gate;
  gate.error_exitcode = 42;
  const auto run = run_that_leaves(2, gate);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.said, "heapledger: no leak found; what was watched: heapledger leaks a.hlp\n");
}

TEST(run_leaks, places_that_may_leak_are_mentioned_where_none_does) {
  run_leak_watch watch({}, true);
  profile p;
  p.leaks.emplace().watched = 3;
  watch.read({.file = "first.hlp", .program = "a", .exe = {}}, p);
  for (const std::int64_t bytes : {100, -100}) {
    auto& entry = p.leaks->entries.emplace_back();
    entry.verdict = "suspect";
    entry.bytes = bytes;
  }
  watch.read({.file = "second.hlp", .program = "a", .exe = {}}, p);
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(watch.finish(false, 0), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(),
            "heapledger: no leak found; 1 place that grows is not decided yet; see: heapledger leaks second.hlp\n");
}

TEST(run_leaks, what_was_freed_at_the_end_is_mentioned_where_it_is_more_than_the_leaks) {
  const auto said_of = [](std::int64_t leaked, std::int64_t freed) {
    run_leak_watch watch({}, true);
    profile p;
    p.leaks.emplace().watched = 3;
    watch.read({.file = "first.hlp", .program = "a", .exe = {}}, p);
    p.leaks->entries = {{.verdict = "retention", .witnesses = {"freed"}, .bytes = freed}};
    if (leaked != 0) p.leaks->entries.push_back({.verdict = "leak", .witnesses = {"stale"}, .bytes = leaked});
    watch.read({.file = "a.hlp", .program = "a", .exe = {}}, p);
    ::testing::internal::CaptureStderr();
    watch.finish(false, 0);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said_of(0, 6 << 20),
            "heapledger: no leak found; about 6.0 MiB grew untouched, and was freed when the program ended; what was "
            "watched: heapledger leaks a.hlp\n");
  EXPECT_EQ(said_of(1 << 20, 1024), "heapledger: 1 leak of about 1.0 MiB; see: heapledger leaks a.hlp\n");
}

TEST(run_leaks, a_watch_tells_something_if_it_was_long_enough_or_watched_anything) {
  profile p;
  p.stacks = {{.id = 1, .node = 0, .scope = {}, .count = {.allocations = 1000}}};
  leaks::hunt_options hunt;
  leak_info found;
  found.duration_ns = 24'000'000'000;
  EXPECT_EQ(worth_of(found, p, hunt), no_leak::untold);
  found.obstacle.clear();
  found.duration_ns = 25'000'000'000;
  EXPECT_EQ(worth_of(found, p, hunt), no_leak::told);
  found.duration_ns = 3'000'000'000;
  hunt.suspicious_s = hunt.access_s = 1;
  EXPECT_EQ(worth_of(found, p, hunt), no_leak::told);
  found.entries = {{.verdict = "suspect", .witnesses = {}, .bytes = 1000}};
  EXPECT_EQ(worth_of(found, p, hunt), no_leak::untold) << "it grows, and none of its blocks was watched";
  EXPECT_FALSE(untold_because(found).empty());
  found.obstacle.clear();
  found.entries[0].sampled = 1;
  EXPECT_EQ(worth_of(found, p, hunt), no_leak::told);
  found.entries.clear();
  found.duration_ns = 0;
  found.watched = 1;
  EXPECT_EQ(worth_of(found, p, hunt), no_leak::told);
  EXPECT_TRUE(found.obstacle.empty());
}

}  // namespace
}  // namespace heapledger::cli

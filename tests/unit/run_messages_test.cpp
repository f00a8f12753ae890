// What `run` says at its end about the profiles it wrote.
#include "tool/cli/run_messages.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <string>
#include <vector>

namespace heapledger::cli {
namespace {

std::vector<written_profile> profiles(int count, const std::string& program) {
  std::vector<written_profile> all;
  for (int i = 0; i < count; ++i)
    all.push_back({.file = fmt::format("{}.{}.hlp", program, i),
                   .program = program,
                   .pid = 100,
                   .peak_bytes = 1024 * (i + 1),
                   .exe = {}});
  return all;
}

std::string said_of(std::vector<written_profile> written) {
  ::testing::internal::CaptureStderr();
  say_written(std::move(written));
  return ::testing::internal::GetCapturedStderr();
}

TEST(run_messages, one_profile_is_one_line) {
  EXPECT_EQ(said_of(profiles(1, "a b")), "heapledger: wrote a b.0.hlp; next: heapledger report 'a b.0.hlp'\n");
}

TEST(run_messages, a_program_that_was_killed_early_is_no_riddle_for_doctor) {
  EXPECT_EQ(no_probe_text("./a b", SIGKILL), "no profile: ./a b was killed by signal 9 before the probe was loaded");
  EXPECT_EQ(no_probe_text("./a b", 137 << 8),
            "no profile: ./a b did not load the probe; `heapledger doctor './a b'` may tell why");
}

// A version manager's script in front of the program: dozens of shells, and one that is wanted.
TEST(run_messages, many_programs_name_the_biggest_and_how_to_get_it_alone) {
  auto all = profiles(20, "bash");
  all.push_back({.file = "p.hlp", .program = "python3.11", .pid = 7, .peak_bytes = 1 << 20, .exe = {}});
  EXPECT_EQ(
      said_of(all),
      "heapledger: wrote 21 profiles to .; the biggest: p.hlp (python3.11, peak 1.0 MiB), bash.19.hlp (bash, peak "
      "20.0 KiB), bash.18.hlp (bash, peak 19.0 KiB); next: heapledger report p.hlp; a table of all: heapledger report "
      "*.hlp\n"
      "heapledger: of python3.11 alone next time: heapledger run --only python3.11 ...\n");
}

TEST(run_messages, the_biggest_is_what_holds_most_of_malloc_and_mapped_together) {
  EXPECT_EQ(said_of({{.file = "ld.hlp", .program = "ld", .pid = 1, .peak_bytes = 13 << 20, .exe = {}},
                     {.file = "cc.hlp",
                      .program = "cc1plus",
                      .pid = 2,
                      .peak_bytes = 4 << 20,
                      .mapped_bytes = 80 << 20,
                      .exe = {}}}),
            "heapledger: wrote cc.hlp (cc1plus, pid 2, peak 4.0 MiB and 80.0 MiB mapped)\n"
            "heapledger: wrote ld.hlp (ld, pid 1, peak 13.0 MiB)\n"
            "heapledger: next: heapledger report cc.hlp\n");
}

TEST(run_messages, who_detaches_is_told_of_many_in_one_line) {
  EXPECT_EQ(written_lines(profiles(2, "zsh"), 100), (std::vector<std::string>{"wrote zsh.0.hlp", "wrote zsh.1.hlp"}));
  auto all = profiles(20, "zsh");
  all[19].pid = 7;
  EXPECT_EQ(written_lines(all, 7), std::vector<std::string>{"wrote 20 profiles to .; that of zsh (pid 7): zsh.19.hlp"});
}

TEST(run_messages, many_that_still_run_are_one_line) {
  auto all = profiles(20, "make");
  for (auto& each : all) each.is_running = true;
  EXPECT_EQ(said_of(all).find("heapledger: 20 processes still run: their profiles hold what they did until now\n"), 0U);
}

TEST(run_messages, many_of_one_program_need_no_filter) {
  EXPECT_EQ(said_of(profiles(20, "make")).find("--only"), std::string::npos);
}

TEST(run_messages, the_largest_profile_that_lost_stacks_is_named_and_what_to_do) {
  auto all = profiles(3, "cc1plus");
  all[0].lost_stacks = all[1].lost_stacks = "54 % of the bytes at the peak have no stack, because of x";
  all[1].lacked_room = true;
  const auto said = [&] {
    ::testing::internal::CaptureStderr();
    say_lost_stacks(all, "/dev/shm/heapledger-0-1-x");
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(
      said(),
      "heapledger: cc1plus.1.hlp: 54 % of the bytes at the peak have no stack, because of x; give it more (docker "
      "run --shm-size=1g; mount -o remount,size=1g /dev/shm); stacks are missing in 1 other profile, too\n");
  all.resize(1);
  EXPECT_EQ(said(),
            "heapledger: cc1plus.0.hlp: 54 % of the bytes at the peak have no stack, because of x; record with "
            "--depth\n");
  all[0].lost_stacks.clear();
  EXPECT_EQ(said(), "");
}

TEST(run_messages, programs_that_are_not_counted_are_said_where_only_matches) {
  const auto said = [](const std::vector<std::string>& only) {
    ::testing::internal::CaptureStderr();
    say_uncounted({{.path = "/opt/busybox", .reason = "static", .times = 1}}, only);
    return ::testing::internal::GetCapturedStderr();
  };
  for (const char* glob : {"busybox", "busy*", "*box", "b?syb*x", "*"}) EXPECT_NE(said({"x", glob}), "") << glob;
  for (const char* glob : {"busy", "busybox?", "*y", "", "[b]usybox"}) EXPECT_EQ(said({"x", glob}), "") << glob;
  EXPECT_NE(said({}), "");
}

TEST(run_messages, what_to_type_next_can_be_typed) {
  auto all = profiles(1, "p");
  all[0].file = "-p.hlp";
  EXPECT_EQ(said_of(all), "heapledger: wrote -p.hlp; next: heapledger report ./-p.hlp\n");
  all[0].file = "a\n.hlp";
  EXPECT_EQ(said_of(all), "heapledger: wrote a\\x0a.hlp; next: heapledger report $'a\\012.hlp'\n");
}

TEST(run_messages, silent_processes_are_one_line) {
  const auto said = [](const std::vector<collect::silent_process>& processes) {
    ::testing::internal::CaptureStderr();
    say_silent(processes);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({{7, "d"}}),
            "heapledger: d (pid 7) still runs and has allocated nothing since it was forked: in no profile; a service "
            "is profiled in its foreground mode\n");
  EXPECT_EQ(said({{7, "d"}, {8, "d"}, {9, "e"}, {10, "e"}}),
            "heapledger: d (pid 7), d (pid 8), e (pid 9) and 1 more still run and have allocated nothing since they "
            "were forked: in no profile; a service is profiled in its foreground mode\n");
}

}  // namespace
}  // namespace heapledger::cli

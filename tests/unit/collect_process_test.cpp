// What /proc tells of processes in unusual states.
#include "tool/collect/process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "leaderless_process.hpp"
#include "tool/collect/resident_parts.hpp"
#include "tool/inject/candidates.hpp"

namespace heapledger::collect {
namespace {

TEST(collect_process, one_whose_first_thread_has_ended_lives_on_in_the_others) {
  const pid_t child = testing::leaderless_process();
  EXPECT_FALSE(has_no_threads_left(child));
  EXPECT_FALSE(inject::is_over(child));
  EXPECT_NE(thread_with_memory(child), child);
  EXPECT_NE(read_memory_file(child, "maps", 1 << 20), "");
  EXPECT_NE(read_memory_file(child, "cmdline", 1 << 20), "");
  ASSERT_TRUE(resident_totals_of(child));
  EXPECT_GT(resident_totals_of(child)->rss, 0);
  ::kill(child, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(has_no_threads_left(child)) << "it waits to be reaped";
  EXPECT_TRUE(inject::is_over(child));
  EXPECT_FALSE(resident_totals_of(child));
  ::waitpid(child, nullptr, 0);
  EXPECT_TRUE(has_no_threads_left(child));
}

TEST(collect_process, one_with_its_first_thread_is_asked_by_that) {
  EXPECT_FALSE(has_no_threads_left(::getpid()));
  EXPECT_EQ(thread_with_memory(::getpid()), ::getpid());
}

}  // namespace
}  // namespace heapledger::collect

// Signals while profiles are written, and afterwards.
#include "tool/cli/run_parts.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>

#include "temporary_folder.hpp"

namespace heapledger::cli {
namespace {

int status_after(int signal, bool all_is_written, const std::string& session_directory = "/nowhere") {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(signal, SIG_DFL);  // whatever the test was started with
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    const interruptible while_writing(session_directory);
    if (all_is_written) while_writing.end();
    ::raise(signal);
    ::_exit(7);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(run_parts, a_signal_ends_the_writing_and_nothing_after_it) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(status_after(signal, false), 128 + signal);
    EXPECT_EQ(status_after(signal, true), 7) << "the program's own";
  }
}

TEST(run_parts, a_signal_right_after_the_last_profile_finds_nothing_kept) {
  const temporary_folder folder;
  ASSERT_EQ(::mkdir((folder / "empty").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((folder / "full").c_str(), 0700), 0);
  ASSERT_EQ(::mkdir((folder / "full/one").c_str(), 0700), 0);
  EXPECT_EQ(status_after(SIGTERM, false, folder / "full"), 128 + SIGTERM);
  EXPECT_EQ(status_after(SIGTERM, false, folder / "empty"), 7);
}

}  // namespace
}  // namespace heapledger::cli

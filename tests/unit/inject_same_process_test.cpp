#include "tool/inject/same_process.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace heapledger::inject {
namespace {

TEST(inject_same_process, is_there_until_its_number_is_free) {
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  const same_process process(child);
  EXPECT_TRUE(process.is_there());
  EXPECT_TRUE(process.has(child));
  EXPECT_FALSE(process.has(::gettid())) << "of another process";

  ::kill(child, SIGKILL);
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_TRUE(process.is_there()) << "a zombie keeps its number";
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(process.is_there());
  EXPECT_FALSE(process.has(child));
}

}  // namespace
}  // namespace heapledger::inject

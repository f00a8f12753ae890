#include "tool/inject/same_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <string_view>

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

TEST(inject_same_process, runs_the_same_until_it_executes_another) {
  int told[2];
  ASSERT_EQ(::pipe2(told, O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    if (::read(told[0], &byte, 1) == 1) ::execl("/bin/sleep", "sleep", "1000", nullptr);
    ::_exit(1);
  }
  const same_process process(child);
  EXPECT_TRUE(process.runs_the_same());
  ASSERT_EQ(::write(told[1], "", 1), 1);
  char name[4096];
  do {
    const ssize_t length = ::readlink(("/proc/" + std::to_string(child) + "/exe").c_str(), name, sizeof name);
    ASSERT_GT(length, 0);
    name[length] = 0;
  } while (std::string_view(name).ends_with("unit_tests"));
  EXPECT_FALSE(process.runs_the_same());
  EXPECT_TRUE(process.has(child));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(told[0]);
  ::close(told[1]);
}

}  // namespace
}  // namespace heapledger::inject

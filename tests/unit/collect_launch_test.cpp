#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "tool/collect/environment.hpp"
#include "tool/collect/launch.hpp"

namespace heapledger::collect {
namespace {

std::vector<std::string> our_environment() {
  std::vector<std::string> result;
  for (char** variable = environ; *variable != nullptr; ++variable) result.emplace_back(*variable);
  return result;
}

int wait_for(pid_t program, held_signals& signals) {
  for (;;) {
    if (const auto status = try_wait(program)) return exit_status_of(*status);
    pollfd ready{.fd = signals.fd(), .events = POLLIN, .revents = 0};
    ::poll(&ready, 1, -1);
    signals.pass_on(program);
  }
}

int run(const std::vector<std::string>& command) {
  held_signals signals;
  return wait_for(launch(command, our_environment(), signals), signals);
}

int failure_of(const std::vector<std::string>& command) {
  held_signals signals;
  try {
    launch(command, our_environment(), signals);
  } catch (const launch_error& error) {
    return error.exit_status();
  }
  return 0;
}

TEST(collect_launch, gives_the_programs_status) {
  EXPECT_EQ(run({"true"}), 0);
  EXPECT_EQ(run({"sh", "-c", "exit 42"}), 42);
  EXPECT_EQ(run({"sh", "-c", "kill -9 $$"}), 128 + 9);
}

TEST(collect_launch, tells_not_found_from_not_executable) {
  EXPECT_EQ(failure_of({"no-such-program-anywhere"}), 127);
  EXPECT_EQ(failure_of({"/no/such/program"}), 127);
  EXPECT_EQ(failure_of({"/"}), 126);
  EXPECT_EQ(failure_of({"/etc/passwd"}), 126);
  EXPECT_EQ(failure_of({""}), 127);
}

TEST(collect_launch, the_program_inherits_descriptors_mask_and_dispositions_as_they_were) {
  const std::string state =
      "ls /proc/self/fd | wc -l; grep -E '^Sig(Blk|Ign|Cgt)|^Shd' /proc/self/status; ps -o pgid= $$";
  const auto observe = [&](bool held) {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    const std::vector<std::string> command = {"sh", "-c", "(" + state + ") >&" + std::to_string(ends[1])};
    if (held) {
      run(command);
    } else {
      const pid_t child = ::fork();
      if (child == 0) {
        ::execlp("sh", "sh", "-c", command[2].c_str(), nullptr);
        ::_exit(127);
      }
      ::waitpid(child, nullptr, 0);
    }
    ::close(ends[1]);
    std::string seen(4096, '\0');
    std::size_t used = 0;
    for (ssize_t got = 1; got > 0; used += static_cast<std::size_t>(got)) {
      got = ::read(ends[0], seen.data() + used, seen.size() - used);
      if (got < 0) break;
    }
    ::close(ends[0]);
    return seen.substr(0, used);
  };
  // SIGPIPE and SIGUSR1 stand for what a caller may have set.
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t mask;
  sigemptyset(&mask);
  sigaddset(&mask, SIGUSR2);
  sigprocmask(SIG_BLOCK, &mask, nullptr);
  const auto bare = observe(false);
  const auto launched = observe(true);
  sigprocmask(SIG_UNBLOCK, &mask, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  EXPECT_NE(bare.find("SigBlk"), std::string::npos);
  EXPECT_EQ(bare, launched);
}

TEST(collect_launch, passes_on_what_processes_send) {
  held_signals signals;
  const pid_t program = launch({"sh", "-c", "trap 'exit 7' TERM; kill -TERM $PPID; while :; do sleep 1; done"},
                               our_environment(), signals);
  EXPECT_EQ(wait_for(program, signals), 7);
}

TEST(collect_launch, releases_its_hold_on_signals) {
  sigset_t before;
  sigprocmask(SIG_BLOCK, nullptr, &before);
  { const held_signals signals; }
  sigset_t after;
  sigprocmask(SIG_BLOCK, nullptr, &after);
  for (int signal = 1; signal < 32; ++signal) EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal));
}

TEST(collect_environment, adds_the_probe_before_what_was_preloaded) {
  const char* const inherited[] = {"A=1",
                                   "LD_PRELOAD=/x/liba.so:/old/libheapledger.so /x/libb.so",
                                   "HEAPLEDGER_ONLY=z",
                                   "HEAPLEDGER_OUTPUT=keep",
                                   "HEAPLEDGER_SESSION=/old",
                                   "B=",
                                   nullptr};
  probe_settings settings;
  settings.library = "/p/libheapledger.so";
  settings.session_directory = "/s";
  settings.depth = 5;
  settings.only = {"a*", "b"};
  settings.follow = false;
  EXPECT_EQ(environment_for(settings, inherited),
            (std::vector<std::string>{"A=1", "HEAPLEDGER_OUTPUT=keep",
                                      "B=", "LD_PRELOAD=/p/libheapledger.so:/x/liba.so:/x/libb.so",
                                      "HEAPLEDGER_SESSION=/s", "HEAPLEDGER_STACKS=dwarf", "HEAPLEDGER_DEPTH=5",
                                      "HEAPLEDGER_NO_FOLLOW=1", "HEAPLEDGER_ONLY=a*:b"}));
}

TEST(collect_launch, who_asks_us_to_end_before_anything_was_begun_is_heard) {
  held_signals signals;
  EXPECT_EQ(signals.wish_to_end(), 0);
  ::raise(SIGUSR1);
  EXPECT_EQ(signals.wish_to_end(), 0);
  ::raise(SIGTERM);
  EXPECT_EQ(signals.wish_to_end(), SIGTERM);
  EXPECT_TRUE(signals.were_to_end_us()) << "it was not read";
  EXPECT_EQ(signals.wish_to_end(), 0);
}

TEST(collect_launch, what_was_ignored_when_we_began_is_no_wish_to_end) {
  const auto asked_by = [](int signal, bool was_ignored) {
    struct sigaction action {};
    struct sigaction before {};
    action.sa_handler = was_ignored ? SIG_IGN : SIG_DFL;
    ::sigaction(signal, &action, &before);
    bool asked = false;
    {
      held_signals signals;
      ::raise(signal);
      asked = signals.were_to_end_us();
    }
    ::sigaction(signal, &before, nullptr);
    return asked;
  };
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) EXPECT_TRUE(asked_by(signal, false)) << signal;
  EXPECT_FALSE(asked_by(SIGHUP, true)) << "nohup";
  EXPECT_FALSE(asked_by(SIGTERM, true));
  EXPECT_TRUE(asked_by(SIGINT, true)) << "shells ignore it for what runs behind";
}

}  // namespace
}  // namespace heapledger::collect

// The leak watch of a run, where the session's folder holds what the probe did not make.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

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

}  // namespace
}  // namespace heapledger::cli

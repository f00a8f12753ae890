#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "temporary_folder.hpp"
#include "tool/collect/left_sessions.hpp"

namespace heapledger::collect {
namespace {

namespace fs = std::filesystem;

constexpr pid_t nobody = 4194305;  // above the kernel's highest

std::string made(const temporary_folder& folder, uid_t user, pid_t maker, const char* end = "-0123456789abcdef") {
  const auto path = folder / fmt::format("heapledger-{}-{}{}", user, maker, end);
  fs::create_directories(path + "/inner");
  std::ofstream(path + "/inner/4711-0.hls") << "x";
  return path;
}

TEST(left_sessions, are_those_of_this_user_whose_maker_is_gone) {
  const temporary_folder folder;
  EXPECT_TRUE(left_sessions(folder.path(), {}).empty());
  EXPECT_TRUE(left_sessions(folder / "none", {}).empty());
  made(folder, ::getuid(), ::getpid());
  made(folder, ::getuid() + 1, nobody);
  made(folder, ::getuid(), nobody, "");
  fs::create_directory_symlink("/", folder / fmt::format("heapledger-{}-{}-link", ::getuid(), nobody));
  EXPECT_TRUE(left_sessions(folder.path(), {}).empty());
  const auto older = made(folder, ::getuid(), nobody, "-aaaaaaaaaaaaaaaa");
  const auto newer = made(folder, ::getuid(), nobody, "-bbbbbbbbbbbbbbbb");
  fs::last_write_time(older, fs::file_time_type::clock::now() - std::chrono::hours(1));
  const auto found = left_sessions(folder.path(), {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].path, newer);
  EXPECT_EQ(found[1].path, older);
  EXPECT_GT(found[0].bytes, 0U);
}

TEST(left_sessions, are_not_those_in_which_a_program_counts_on) {
  const temporary_folder folder;
  const auto path = made(folder, ::getuid(), nobody);
  EXPECT_EQ(left_sessions(folder.path(), {path + "x/4711-0.hls"}).size(), 1U);
  EXPECT_TRUE(left_sessions(folder.path(), {path + "/inner/4711-0.hls"}).empty());
}

}  // namespace
}  // namespace heapledger::collect

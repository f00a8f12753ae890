#include "tool/cli/newest_profile.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

#include "temporary_folder.hpp"

namespace heapledger::cli {
namespace {

namespace fs = std::filesystem;

void write(const temporary_folder& folder, const std::string& name, int age_s) {
  std::ofstream(folder / name) << "x";
  fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
}

TEST(newest_profile, is_the_one_written_last) {
  const temporary_folder folder;
  EXPECT_EQ(newest_profile(folder.path()), std::nullopt);
  write(folder, "z.hlp", 300);
  EXPECT_EQ(newest_profile(folder.path()), "z.hlp");
  write(folder, "b.hlp", 100);
  write(folder, "c.hlp", 200);
  EXPECT_EQ(newest_profile(folder.path()), "b.hlp");
}

TEST(newest_profile, is_a_file_whose_name_says_so) {
  const temporary_folder folder;
  write(folder, "a.txt", 0);
  write(folder, "hlp", 0);
  fs::create_directory(folder / "folder.hlp");
  fs::create_symlink("nowhere", folder / "dangling.hlp");
  EXPECT_EQ(newest_profile(folder.path()), std::nullopt);
  EXPECT_EQ(newest_profile(folder / "none"), std::nullopt);
  write(folder, "old.hlp", 1000);
  EXPECT_EQ(newest_profile(folder.path()), "old.hlp");
}

}  // namespace
}  // namespace heapledger::cli

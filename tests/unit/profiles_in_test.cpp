#include "tool/cli/profiles_in.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

namespace fs = std::filesystem;

void write(const temporary_folder& folder, const std::string& name, int age_s, std::string_view text = "x") {
  std::ofstream(folder / name) << text;
  fs::last_write_time(folder / name, fs::file_time_type::clock::now() - std::chrono::seconds(age_s));
}

using names = std::vector<std::string>;

TEST(profiles_in, has_the_one_written_last_first) {
  const temporary_folder folder;
  EXPECT_EQ(profiles_in(folder.path()), names{});
  write(folder, "z.hlp", 300);
  write(folder, "b.hlp", 100);
  write(folder, "c.hlp", 200);
  EXPECT_EQ(profiles_in(folder.path()), (names{"b.hlp", "c.hlp", "z.hlp"}));
}

TEST(profiles_in, has_files_whose_names_say_so) {
  const temporary_folder folder;
  write(folder, "a.txt", 0);
  write(folder, "hlp", 0);
  write(folder, "attach", 0);
  fs::create_directory(folder / "folder.hlp");
  fs::create_symlink("nowhere", folder / "dangling.hlp");
  EXPECT_EQ(profiles_in(folder.path()), names{});
  EXPECT_EQ(profiles_in(folder / "none"), names{});
  write(folder, "old.hlp", 1000);
  write(folder, "4711-1.hls", 2000);  // in the directory of a session
  EXPECT_EQ(profiles_in(folder.path()), (names{"old.hlp", "4711-1.hls"}));
}

std::string refused(const std::string& path) {
  try {
    refuse_path_of_no_profile(path);
  } catch (const input_error& error) {
    return error.what();
  }
  return {};
}

TEST(profiles_in, are_named_where_the_folder_was_named) {
  const temporary_folder folder;
  EXPECT_EQ(refused(folder.path()), folder.path() + ": is a folder, and no profile is in it");
  EXPECT_EQ(refused(folder / "none.hlp"), "") << "whoever opens it says why";
  write(folder, "old one.hlp", 1000);
  EXPECT_EQ(refused(folder.path()),
            folder.path() + ": is a folder; the profile in it is '" + folder / "old one.hlp" + "'");
  write(folder, "new.hlp", 10);
  EXPECT_EQ(refused(folder.path()), folder.path() + ": is a folder; the newest of the 2 profiles in it is " +
                                        folder / "new.hlp" + "; heapledger report FILE FILE... is a table of several");
  EXPECT_EQ(refused(folder / "none.hlp"),
            folder / "none.hlp" + ": there is no such file; the newest profile in its folder is " + folder / "new.hlp");
  EXPECT_EQ(refused(folder / "new.hlp"), "");
  EXPECT_EQ(refused("-"), "-: there is no such file; /dev/stdin is a profile that comes through a pipe");
}

TEST(profiles_in, are_found_in_the_inner_folder_of_a_session) {
  const temporary_folder folder;
  fs::create_directories(folder / "heapledger-0-4711-a/inner");
  fs::create_directories(folder / "other/inner");
  for (const char* name : {"heapledger-0-4711-a/inner/4712-0.hls", "other/inner/4712-0.hls"}) write(folder, name, 0);
  for (const char* end : {"", "/"}) {
    const auto session = folder / "heapledger-0-4711-a" + end;
    EXPECT_EQ(refused(session),
              session + ": is a folder; the profile in it is " + folder / "heapledger-0-4711-a/inner/4712-0.hls");
    EXPECT_EQ(refused(folder / "other" + end), folder / "other" + end + ": is a folder, and no profile is in it");
  }
}

TEST(profiles_in, is_said_of_a_program_how_it_is_profiled) {
  const temporary_folder folder;
  write(folder, "server", 0,
        "\x7f"
        "ELF");
  write(folder, "script", 0, "#!/bin/sh\n");
  write(folder, "text", 0, "plain");
  for (const char* name : {"server", "script", "text"}) fs::permissions(folder / name, fs::perms::owner_all);
  EXPECT_EQ(refused(folder / "server"),
            folder / "server" + ": is a program, not a profile; heapledger run -- " + folder / "server" + " makes one");
  EXPECT_NE(refused(folder / "script"), "");
  EXPECT_EQ(refused(folder / "text"), "");
}

}  // namespace
}  // namespace heapledger::cli

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <sstream>
#include <thread>

#include "full_profile.hpp"
#include "temporary_folder.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/new_file.hpp"
#include "tool/profile/read.hpp"
#include "tool/profile/write.hpp"

namespace heapledger {
namespace {

using names = std::vector<std::string>;

void put(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string refusal(const std::string& path, bool overwrite) {
  try {
    write_profile(full_profile(), path, overwrite);
  } catch (const input_error& error) {
    return error.what();
  }
  return "written";
}

class profile_write : public ::testing::Test {
 protected:
  temporary_folder folder_;
  std::string path_ = folder_ / "a.hlp";
};

TEST_F(profile_write, reads_back_and_leaves_nothing_else) {
  write_profile(full_profile(), path_, false);
  EXPECT_EQ(read_profile(path_), full_profile());
  EXPECT_EQ(folder_.names(), names{"a.hlp"});
}

TEST_F(profile_write, a_name_without_folder_is_in_the_current_one) {
  const std::string before = std::filesystem::current_path();
  std::filesystem::current_path(folder_.path());
  write_profile(full_profile(), "b.hlp", false);
  std::filesystem::current_path(before);
  EXPECT_EQ(folder_.names(), names{"b.hlp"});
}

TEST_F(profile_write, an_existing_file_stays_unless_asked) {
  put(path_, "precious");
  EXPECT_EQ(refusal(path_, false), path_ + ": the file exists; choose another name with -o, or overwrite it with -f");
  EXPECT_EQ(contents(path_), "precious");
  EXPECT_EQ(folder_.names(), names{"a.hlp"});
  write_profile(full_profile(), path_, true);
  EXPECT_EQ(read_profile(path_), full_profile());
  EXPECT_EQ(folder_.names(), names{"a.hlp"});
}

TEST_F(profile_write, of_many_writers_one_wins) {
  std::atomic<int> winners{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 8; ++i) writers.emplace_back([&] { winners += refusal(path_, false) == "written" ? 1 : 0; });
  for (auto& writer : writers) writer.join();
  EXPECT_EQ(winners, 1);
  EXPECT_EQ(folder_.names(), names{"a.hlp"});
}

TEST_F(profile_write, the_mode_follows_the_umask) {
  for (const mode_t mask : {0022, 0077, 0000}) {
    const mode_t before = umask(mask);
    write_profile(full_profile(), path_, true);
    umask(before);
    struct stat status {};
    ASSERT_EQ(stat(path_.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 07777, 0666U & ~mask);
  }
}

TEST_F(profile_write, a_link_is_followed_only_to_overwrite) {
  put(folder_ / "target", "old");
  ASSERT_EQ(symlink("target", path_.c_str()), 0);
  EXPECT_NE(refusal(path_, false).find("the file exists"), std::string::npos);
  write_profile(full_profile(), path_, true);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(read_profile(folder_ / "target"), full_profile());

  const std::string dangling = folder_ / "dangling";
  ASSERT_EQ(symlink("nowhere", dangling.c_str()), 0);
  EXPECT_NE(refusal(dangling, false).find("the file exists"), std::string::npos);
  EXPECT_EQ(folder_.names(), (names{"a.hlp", "dangling", "target"}));
}

TEST_F(profile_write, a_chain_of_links_is_followed_to_its_end_which_need_not_be_there) {
  ASSERT_EQ(symlink("second", path_.c_str()), 0);
  ASSERT_EQ(symlink((folder_ / "end").c_str(), (folder_ / "second").c_str()), 0);
  write_profile(full_profile(), path_, true);
  EXPECT_TRUE(std::filesystem::is_symlink(path_));
  EXPECT_EQ(read_profile(folder_ / "end"), full_profile());
  ASSERT_EQ(symlink("ring", (folder_ / "ring").c_str()), 0);
  EXPECT_NE(refusal(folder_ / "ring", true).find("Too many levels"), std::string::npos);
}

// In /tmp anybody may have put a link to a file of ours where we are about to write.
TEST_F(profile_write, what_others_planted_is_not_written_through) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can make files of another user";
  constexpr uid_t somebody = 65534;
  const std::string victim = folder_ / "victim";
  const std::string shared = folder_ / "shared";
  put(victim, "precious");
  std::filesystem::create_directory(shared);
  ASSERT_EQ(chmod(shared.c_str(), 01777), 0);
  const std::string link = shared + "/link", pipe = shared + "/pipe", device = shared + "/device";
  ASSERT_EQ(symlink(victim.c_str(), link.c_str()), 0);
  ASSERT_EQ(symlink("/dev/null", device.c_str()), 0);
  ASSERT_EQ(mkfifo(pipe.c_str(), 0666), 0);
  for (const auto& each : {link, pipe, device}) ASSERT_EQ(lchown(each.c_str(), somebody, somebody), 0);
  ASSERT_EQ(symlink(link.c_str(), path_.c_str()), 0);  // our own, and behind it theirs

  for (const bool overwrite : {false, true}) {
    EXPECT_EQ(refusal(link, overwrite), link +
                                            ": is a symbolic link of another user, in a folder that everybody may "
                                            "write to; remove it, or choose another place with -o");
    EXPECT_NE(refusal(path_, overwrite).find("of another user"), std::string::npos);
    EXPECT_NE(refusal(device, overwrite).find("of another user"), std::string::npos);
    EXPECT_NE(refusal(pipe, overwrite).find("device or pipe of another user"), std::string::npos);
  }
  EXPECT_EQ(contents(victim), "precious");

  ASSERT_EQ(lchown(link.c_str(), geteuid(), getegid()), 0);
  EXPECT_EQ(refusal(path_, true), "written");
  EXPECT_EQ(read_profile(victim), full_profile());
}

TEST_F(profile_write, says_why_it_cannot) {
  EXPECT_EQ(refusal(folder_ / "no/a.hlp", false),
            folder_ / "no/a.hlp" +
                ": cannot be written (No such file or directory); make its folder, or choose another place with -o");
  EXPECT_EQ(refusal(folder_.path(), true), folder_.path() + ": this is a folder; choose a file name with -o");
  put(path_, "a file");
  EXPECT_NE(refusal(path_ + "/b.hlp", false).find("Not a directory"), std::string::npos);
  EXPECT_EQ(refusal("/dev/full", true),
            "/dev/full: cannot be written (No space left on device); make room, or choose another place with -o");
}

TEST_F(profile_write, a_device_is_written_to_and_stays_a_device) {
  write_profile(full_profile(), "/dev/null", true);
  write_profile(full_profile(), "/dev/null", false);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
}

// No room is simulated by a limit on file sizes; the path through write(2) is the same.
TEST_F(profile_write, without_room_the_old_file_stays_and_no_piece_is_left) {
  put(path_, "precious");
  const auto write_with_limit = [&] {
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit limit{64, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string said = refusal(path_, true);
    setrlimit(RLIMIT_FSIZE, &before);
    std::cerr << said;
    _exit(7);
  };
  EXPECT_EXIT(write_with_limit(), ::testing::ExitedWithCode(7), "cannot be written .File too large.; raise the limit");
  EXPECT_EQ(contents(path_), "precious");
  EXPECT_EQ(folder_.names(), names{"a.hlp"});
}

TEST_F(profile_write, nothing_inconsistent_is_written) {
  profile p = full_profile();
  p.nodes[2].parent = 2;
  try {
    write_profile(p, path_, false);
    ADD_FAILURE() << "was written";
  } catch (const input_error& error) {
    EXPECT_EQ(std::string(error.what()), path_ +
                                             ": the profile cannot be written: stack node 2 has no parent before "
                                             "it; please report this as a bug of heapledger");
  }
  EXPECT_TRUE(folder_.names().empty());
}

TEST_F(profile_write, what_is_not_complete_has_no_name) {
  const int supported = open(folder_.path().c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (supported < 0) GTEST_SKIP() << "this file system has no files without a name";
  close(supported);
  for (const bool overwrite : {false, true}) {
    put(folder_ / "old", "old");
    new_file file(folder_ / (overwrite ? "old" : "new"));
    file.write("text");
    EXPECT_EQ(folder_.names(), names{"old"});
    if (overwrite) {
      file.replace();
    } else {
      EXPECT_TRUE(file.appear());
    }
    EXPECT_EQ(contents(folder_ / (overwrite ? "old" : "new")), "text");
    std::filesystem::remove(folder_ / "new");
  }
  EXPECT_EQ(folder_.names(), names{"old"});
}

TEST_F(profile_write, what_may_be_overwritten_need_not_be_there) {
  for (const char* text : {"first", "second"}) {
    new_file file(folder_ / "new");
    file.write(text);
    file.replace();
    EXPECT_EQ(contents(folder_ / "new"), text);
  }
  EXPECT_EQ(folder_.names(), names{"new"});
}

TEST(input_error, is_one_line) {
  EXPECT_STREQ(input_error("a\nb\x1b[31m", "what", "do").what(), "a\\x0ab\\x1b[31m: what; do");
  EXPECT_EQ(printable("caf\xc3\xa9 \xc2\x9b\x7f\xc2"), "caf\xc3\xa9 \\x9b\\x7f\\xc2");
  EXPECT_EQ(printable("a\u202eb\x9b"), "a\\u{202e}b\\x9b");  // a byte that is CSI where a terminal takes no UTF-8
}

}  // namespace
}  // namespace heapledger

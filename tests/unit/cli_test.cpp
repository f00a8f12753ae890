// The tool as a process: exit status, what goes to which stream, one line where a line is promised.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "temporary_folder.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/output_file.hpp"
#include "tool/profile/error.hpp"

namespace heapledger {
namespace {

namespace fs = std::filesystem;

struct outcome {
  int status = -1;
  std::string out;
  std::string err;
};

std::string read_whole(int fd) {
  std::string text;
  std::array<char, 4096> buffer{};
  lseek(fd, 0, SEEK_SET);
  for (ssize_t got = 0; (got = read(fd, buffer.data(), buffer.size())) > 0;) {
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text;
}

// The tool stands beside the tests.
outcome heapledger_tool(std::vector<std::string> words, const char* stdout_path = nullptr) {
  const auto tool = fs::read_symlink("/proc/self/exe").parent_path() / "heapledger";
  words.insert(words.begin(), tool.string());
  std::vector<char*> arguments;
  for (auto& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  std::FILE* const out = std::tmpfile();
  std::FILE* const err = std::tmpfile();
  const pid_t child = fork();
  if (child == 0) {
    dup2(stdout_path == nullptr ? fileno(out) : open(stdout_path, O_WRONLY), STDOUT_FILENO);
    dup2(fileno(err), STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(99);
  }
  outcome result;
  int status = 0;
  waitpid(child, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.out = read_whole(fileno(out));
  result.err = read_whole(fileno(err));
  std::fclose(out);
  std::fclose(err);
  return result;
}

void expect_one_line(const outcome& result, int status, const std::string& part) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos) << result.err;
}

TEST(cli, help_and_version_go_to_standard_output) {
  for (const char* word : {"--help", "--version", "help"}) {
    const outcome result = heapledger_tool({word});
    EXPECT_EQ(result.status, 0) << word;
    EXPECT_NE(result.out.find("heapledger"), std::string::npos) << word;
    EXPECT_EQ(result.err, "") << word;
  }
}

TEST(cli, what_does_not_reach_a_full_disk_is_one_line_and_125) {
  using words = std::vector<std::string>;
  for (const auto& command : {words{"--help"}, words{"--version"}, words{"run", "--help"}, words{"ps", "--json"},
                              words{"doctor"}, words{"doctor", "/bin/true"}})
    expect_one_line(heapledger_tool(command, "/dev/full"), 125, "cannot write to standard output: No space left");
}

TEST(cli, output_follows_a_link_to_overwrite) {
  const temporary_folder folder;
  const std::string link = folder / "link";
  std::ofstream(folder / "target") << "old";
  ASSERT_EQ(symlink("target", link.c_str()), 0);
  cli::output_file file(link, true);
  file.write("new");
  file.finish();
  EXPECT_TRUE(fs::is_symlink(link));
  std::string text;
  std::ifstream(folder / "target") >> text;
  EXPECT_EQ(text, "new");
}

TEST(cli, alone_it_says_what_there_is) {
  const outcome result = heapledger_tool({});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_NE(result.err.find("heapledger run"), std::string::npos);
}

TEST(cli, wrong_usage_is_one_line_and_2) {
  expect_one_line(heapledger_tool({"rport"}), 2, "did you mean report?");
  expect_one_line(heapledger_tool({"ps", "x"}), 2, "one argument too many");
  expect_one_line(heapledger_tool({"attach"}), 2, "to which process?");
  expect_one_line(heapledger_tool({"detach", "x"}), 2, "is no number");
  expect_one_line(heapledger_tool({"run", "--bogus", "true"}), 2, "--bogus");
  expect_one_line(heapledger_tool({"run"}), 2, "which program?");
  expect_one_line(heapledger_tool({"report", "--by", "size", "x"}), 2, "--by");
  expect_one_line(heapledger_tool({"html"}), 2, "which profile?");
}

TEST(cli, a_file_that_cannot_be_read_is_one_line_and_125) {
  expect_one_line(heapledger_tool({"report", "/no/such/file.hlp"}), 125, "heapledger: ");
  expect_one_line(heapledger_tool({"report", "--json", "/"}), 125, "heapledger: ");
  expect_one_line(heapledger_tool({"report", "/proc/self/exe"}), 125, "heapledger: ");
  expect_one_line(heapledger_tool({"report", "/dev/null"}), 125, "heapledger: ");
}

TEST(cli, doctor_says_what_a_program_is) {
  const outcome good = heapledger_tool({"doctor", "/bin/cat"});
  EXPECT_NE(good.out.find("/bin/cat can be profiled"), std::string::npos) << good.out;
  EXPECT_EQ(good.err, "");
  const outcome missing = heapledger_tool({"doctor", "/no/such/program"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.out.find("not found"), std::string::npos) << missing.out;
  EXPECT_EQ(good.out.find('\x1b'), std::string::npos);
}

TEST(cli_load, of_many_snapshots_a_few_are_named) {
  profile p;
  for (std::uint32_t i = 0; i < 300; ++i) p.markers.push_back({.name = "s" + std::to_string(i), .snapshot = i});
  p.snapshots.resize(300);
  EXPECT_EQ(cli::snapshot_of(p, "a.hlp", "s299"), 299U);
  try {
    cli::snapshot_of(p, "a.hlp", "s300");
    FAIL() << "there is none";
  } catch (const input_error& error) {
    EXPECT_EQ(std::string(error.what()),
              "a.hlp: there is no snapshot 's300' in it; there are 's0', 's1', 's2', 's3', 's4', 's5', 's6', 's7', "
              "'s8', 's9' and 290 more, up to 's299'");
  }
}

}  // namespace
}  // namespace heapledger

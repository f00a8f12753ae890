#include "tool/collect/program_check.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tool/collect/elf_traits.hpp"

namespace heapledger {
namespace {

namespace fs = std::filesystem;

// The smallest file that the kernel would call an ELF program.
struct tiny_elf {
  Elf64_Ehdr header{};
  Elf64_Phdr interpreter{};
  char loader[64]{};

  explicit tiny_elf(const char* loader_path) {
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_ident[EI_VERSION] = EV_CURRENT;
    header.e_type = ET_DYN;
    header.e_machine = std::string(native_machine()) == "x86-64" ? EM_X86_64 : EM_AARCH64;
    header.e_version = EV_CURRENT;
    header.e_phoff = sizeof(header);
    header.e_ehsize = sizeof(header);
    header.e_phentsize = sizeof(interpreter);
    header.e_phnum = 1;
    interpreter.p_type = loader_path != nullptr ? PT_INTERP : PT_NULL;
    interpreter.p_offset = sizeof(header) + sizeof(interpreter);
    interpreter.p_filesz = sizeof(loader);
    if (loader_path != nullptr) std::strncpy(loader, loader_path, sizeof(loader) - 1);
  }
  std::string bytes() const { return {reinterpret_cast<const char*>(this), sizeof(*this)}; }
};

class program_check_test : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "heapledger_check_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& content, mode_t mode = 0755) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    EXPECT_EQ(chmod(path.c_str(), mode), 0);
    return path;
  }

  fs::path folder_;
};

TEST_F(program_check_test, an_ordinary_program_has_no_findings) {
  const program_check check = check_program("/bin/cat");
  EXPECT_EQ(check.path, "/bin/cat");
  EXPECT_EQ(check.image, "/bin/cat");
  EXPECT_TRUE(check.findings.empty());
}

TEST_F(program_check_test, finds_a_name_in_path) {
  EXPECT_TRUE(check_program("cat").path.ends_with("/cat"));
}

TEST_F(program_check_test, says_not_found) {
  for (const char* name : {"no-such-program-here", "/no/such/program", ""}) {
    const program_check check = check_program(name);
    ASSERT_NE(check.fatal(), nullptr) << name;
    EXPECT_EQ(check.fatal()->what, obstacle::not_found) << name;
  }
}

TEST_F(program_check_test, says_not_executable) {
  const std::string plain = write("plain", "#!/bin/sh\n", 0644);
  for (const std::string& path : {plain, folder_.string()}) {
    const program_check check = check_program(path);
    ASSERT_NE(check.fatal(), nullptr) << path;
    EXPECT_EQ(check.fatal()->what, obstacle::not_executable) << path;
  }
}

TEST_F(program_check_test, follows_scripts_to_their_interpreter) {
  for (const char* line : {"#!/bin/sh\n", "#! /bin/sh -e\n", "#!/usr/bin/env sh\n", "#!/bin/sh"}) {
    const program_check check = check_program(write("script", line));
    EXPECT_EQ(check.fatal(), nullptr) << line;
    ASSERT_EQ(check.findings.size(), 1U) << line;
    EXPECT_EQ(check.findings[0].what, obstacle::script) << line;
    EXPECT_NE(check.findings[0].words.find("/sh"), std::string::npos) << line;
    EXPECT_TRUE(check.image.ends_with("/sh")) << line;
  }
}

TEST_F(program_check_test, refuses_a_script_without_interpreter) {
  const program_check check = check_program(write("script", "#!/no/such/interpreter\n"));
  ASSERT_NE(check.fatal(), nullptr);
  EXPECT_NE(check.fatal()->words.find("/no/such/interpreter"), std::string::npos);
}

TEST_F(program_check_test, refuses_a_script_that_interprets_itself) {
  const std::string path = write("loop", "");
  write("loop", "#!" + path + "\n");
  ASSERT_NE(check_program(path).fatal(), nullptr);
}

TEST_F(program_check_test, tells_static_foreign_and_missing_loaders_apart) {
  EXPECT_EQ(check_program(write("a", tiny_elf(nullptr).bytes())).fatal()->what, obstacle::static_program);
  EXPECT_EQ(check_program(write("b", tiny_elf("/lib/ld-musl-x86_64.so.1").bytes())).fatal()->what,
            obstacle::foreign_libc);
  EXPECT_EQ(check_program(write("c", tiny_elf("/no/such/loader").bytes())).fatal()->what, obstacle::not_executable);
  EXPECT_EQ(check_program(write("d", tiny_elf("/bin/sh").bytes())).fatal(), nullptr);
}

TEST_F(program_check_test, refuses_another_machines_program) {
  tiny_elf elf("/bin/sh");
  elf.header.e_machine = EM_S390;
  const program_check check = check_program(write("foreign", elf.bytes()));
  ASSERT_NE(check.fatal(), nullptr);
  EXPECT_EQ(check.fatal()->what, obstacle::not_executable);
  EXPECT_NE(check.fatal()->words.find("s390"), std::string::npos);
}

TEST_F(program_check_test, refuses_another_users_setuid_program) {
  struct statvfs mount {};
  ASSERT_EQ(statvfs(folder_.c_str(), &mount), 0);
  if ((mount.f_flag & ST_NOSUID) != 0) GTEST_SKIP() << "setuid bits mean nothing in " << folder_;
  if (getuid() == 0) {
    const std::string path = write("setuid", tiny_elf("/bin/sh").bytes());
    ASSERT_EQ(chown(path.c_str(), 1, 1), 0);
    ASSERT_EQ(chmod(path.c_str(), 04755), 0);
    const program_check check = check_program(path);
    ASSERT_NE(check.fatal(), nullptr);
    EXPECT_EQ(check.fatal()->what, obstacle::privileged);
  } else {
    const program_check check = check_program("/bin/su");
    ASSERT_NE(check.fatal(), nullptr);
    EXPECT_EQ(check.fatal()->what, obstacle::privileged);
  }
}

TEST_F(program_check_test, survives_damaged_files) {
  const std::string whole = tiny_elf("/bin/sh").bytes();
  for (std::size_t size = 0; size < whole.size(); ++size) check_program(write("cut", whole.substr(0, size)));
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string bent = whole;
    bent[i] = static_cast<char>(0xff);
    check_program(write("bent", bent));
  }
  EXPECT_NE(check_program(write("noise", std::string("\1\2\0\3", 4))).fatal(), nullptr);
}

}  // namespace
}  // namespace heapledger

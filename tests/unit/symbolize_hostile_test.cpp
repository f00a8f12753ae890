// Files that are cut off or damaged: any answer will do, a crash or an endless loop will not.
#include <elf.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "symbolize_support.hpp"
#include "tool/symbolize/elf_file.hpp"

namespace heapledger::test {
namespace {

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

class hostile_file : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_fixture(GetParam())) GTEST_SKIP() << "no compiler for this fixture";
    bytes_ = read(fixture(GetParam()));
    for (const auto address : text_addresses(fixture(GetParam())))
      if (address % 64 == 0) addresses_.push_back(address);
    for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2})
      addresses_.push_back(address);
  }

  void try_file(std::string_view bytes) {
    const auto path = (scratch_.path() / "damaged").string();
    std::filesystem::remove(path);
    write(path, bytes);
    auto made = profile_of(path, addresses_);
    made.modules[0].build_id.clear();  // believed by its name alone
    symbolize(made);
    for (const auto& place : made.locations)
      for (const auto index : place.symbols) ASSERT_LT(index, made.frames.size());
  }

  std::string bytes_;
  std::vector<std::uint64_t> addresses_;
  scratch_folder scratch_;
};

TEST_P(hostile_file, cut_off) {
  for (std::size_t i = 0; i < 60; ++i) try_file(std::string_view(bytes_).substr(0, bytes_.size() * i / 60));
}

TEST_P(hostile_file, bits_flipped_anywhere) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 60; ++round) {
    auto damaged = bytes_;
    for (int i = 0; i < 200; ++i) damaged[random() % damaged.size()] ^= static_cast<char>(1u << (random() % 8));
    try_file(damaged);
  }
}

TEST_P(hostile_file, bits_flipped_in_the_headers) {
  std::mt19937_64 random(12);
  const auto table = bytes_.size() - std::size_t{64} * 40;  // section headers are at the end
  for (int round = 0; round < 60; ++round) {
    auto damaged = bytes_;
    for (int i = 0; i < 3; ++i) {
      damaged[16 + random() % 1000] ^= static_cast<char>(1u << (random() % 8));
      damaged[table + random() % (damaged.size() - table)] ^= static_cast<char>(1u << (random() % 8));
    }
    try_file(damaged);
  }
}

INSTANTIATE_TEST_SUITE_P(symbolize, hostile_file,
                         ::testing::Values("gcc", "gcc_dwarf4", "gcc_compressed", "clang_dwarf5", "gcc_no_debug",
                                           "mini"),
                         [](const auto& tested) { return std::string(tested.param); });

// Twenty thousand units share one list of ranges, at addresses that no code has.
// Without it, minutes.
TEST(symbolize_hostile, ranges_have_one_budget) {
  if (!has_fixture("many_ranges")) GTEST_SKIP() << "no compiler for this fixture";
  const std::uint64_t addresses[] = {1, 4096};
  symbolize_file(fixture("many_ranges"), addresses);
}

// Opening a device, or a pipe, does something to it.
TEST(symbolize_hostile, only_regular_files_are_opened) {
  const scratch_folder scratch;
  const auto path = (scratch.path() / "pipe").string();
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const int watch = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  ASSERT_GE(::inotify_add_watch(watch, path.c_str(), IN_OPEN), 0);
  EXPECT_EQ(symbols::elf_file::open(path), nullptr);
  char event[4096];
  EXPECT_EQ(::read(watch, event, sizeof event), -1) << "it was opened";
  ::close(watch);
}

// libdw opens these by itself, by names that the file holds, and would wait for somebody to write into the pipe.
TEST(symbolize_hostile, a_pipe_in_the_place_of_split_debug_information_is_not_opened) {
  if (!has_fixture("gcc_split")) GTEST_SKIP() << "no compiler for this fixture";
  const scratch_folder scratch;
  const auto program = scratch.copy("gcc_split", "program");
  const auto addresses = text_addresses(program);
  // The names are relative to the program's folder first.
  const auto built = std::filesystem::path(fixture("gcc_split")).parent_path();
  for (const auto& entry : std::filesystem::directory_iterator(built)) {
    const auto name = entry.path().filename().string();
    if (!name.starts_with("gcc_split") || !name.ends_with(".dwo")) continue;
    ASSERT_EQ(::mkfifo((scratch.path() / name).c_str(), 0600), 0);
  }
  profile made = profile_of(program, addresses);
  const auto found = symbolize(made, {});
  EXPECT_NE(found.modules.at(0).advice.find(".dwo"), std::string::npos) << found.modules.at(0).advice;
}

TEST(symbolize_hostile, an_alternate_file_of_another_build_is_not_believed) {
  if (!has_fixture("dwz_first")) GTEST_SKIP() << "dwz is not installed";
  const scratch_folder scratch;
  const auto program = scratch.copy("dwz_first", "program");
  const auto addresses = text_addresses(program);
  const auto without = symbolize_file(program, addresses);
  auto common = read(fixture("dwz_common"));
  const auto note = common.find(std::string("GNU", 4));
  ASSERT_NE(note, std::string::npos);
  common[note + 6] ^= 1;  // a byte of the build-id
  write((scratch.path() / "dwz_common").string(), common);
  EXPECT_TRUE(symbolize_file(program, addresses) == without);
}

// An ELF file with a debug section that says it would be so large.
std::string with_compressed_section(std::uint64_t expanded, std::size_t packed) {
  struct {
    Elf64_Ehdr header{};
    Elf64_Shdr sections[3] = {};
    char names[32] = "\0.debug_info\0.shstrtab";
    Elf64_Chdr compressed{};
  } file;
  auto& header = file.header;
  std::memcpy(header.e_ident,
              "\x7f"
              "ELF\2\1\1",
              7);
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = EV_CURRENT;
  header.e_ehsize = sizeof header;
  header.e_shoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 2;
  const auto names_at = sizeof header + sizeof file.sections;
  file.sections[1].sh_name = 1;
  file.sections[1].sh_type = SHT_PROGBITS;
  file.sections[1].sh_flags = SHF_COMPRESSED;
  file.sections[1].sh_offset = names_at + sizeof file.names;
  file.sections[1].sh_size = sizeof file.compressed + packed;
  file.sections[1].sh_addralign = 8;
  file.sections[2].sh_name = 13;
  file.sections[2].sh_type = SHT_STRTAB;
  file.sections[2].sh_offset = names_at;
  file.sections[2].sh_size = sizeof file.names;
  file.compressed.ch_type = ELFCOMPRESS_ZLIB;
  file.compressed.ch_size = expanded;
  file.compressed.ch_addralign = 1;
  return std::string(reinterpret_cast<const char*>(&file), sizeof file) + std::string(packed, 'x');
}

TEST(symbolize_hostile, files_that_expand_beyond_reason_are_not_opened) {
  const scratch_folder scratch;
  const auto path = (scratch.path() / "bomb").string();
  constexpr std::uint64_t mib = 1 << 20;
  write(path, with_compressed_section(60 * mib, mib / 16));
  EXPECT_NE(symbols::elf_file::open(path), nullptr) << "what is small is no harm";
  write(path, with_compressed_section(1000 * mib, mib));
  EXPECT_EQ(symbols::elf_file::open(path), nullptr);
  EXPECT_TRUE(symbols::elf_file::is_bomb(path));
  write(path, with_compressed_section(90 * mib, mib));
  EXPECT_NE(symbols::elf_file::open(path), nullptr);
}

}  // namespace
}  // namespace heapledger::test

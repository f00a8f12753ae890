// Files that are cut off or damaged: any answer will do, a crash or an endless loop will not.
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

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

class hostile_file : public testing::TestWithParam<const char*> {
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
                         testing::Values("gcc", "gcc_dwarf4", "gcc_compressed", "clang_dwarf5", "gcc_no_debug"),
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

}  // namespace
}  // namespace heapledger::test

// Files that are written to while names are looked up in them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>

#include "symbolize_support.hpp"
#include "tool/symbolize/cut_off_guard.hpp"
#include "tool/symbolize/resolver.hpp"

namespace heapledger::test {
namespace {

namespace fs = std::filesystem;

TEST(cut_off_guard, pages_that_are_gone_read_as_zeros) {
  constexpr std::size_t bytes = 4 * 65536;
  const int file = ::memfd_create("file", MFD_CLOEXEC);
  const std::string content(bytes, 'x');
  ASSERT_EQ(::write(file, content.data(), bytes), static_cast<ssize_t>(bytes));
  auto* map = static_cast<const volatile char*>(::mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0));
  {
    const symbols::cut_off_guard guard;
    EXPECT_EQ(map[bytes - 1], 'x');
    ASSERT_EQ(::ftruncate(file, 1), 0);
    EXPECT_FALSE(symbols::file_was_cut_off());
    EXPECT_EQ(map[bytes - 1], 0);
    EXPECT_EQ(map[65536], 0);
    EXPECT_EQ(map[0], 'x');
    EXPECT_TRUE(symbols::file_was_cut_off());
    const symbols::cut_off_guard inner;
  }
  EXPECT_FALSE(symbols::file_was_cut_off());
  EXPECT_EXIT(
      static_cast<void>(map[2 * 65536]), [](int status) { return !WIFEXITED(status) || WEXITSTATUS(status) != 0; }, "");
  ::munmap(const_cast<char*>(map), bytes);
  ::close(file);
}

class symbolize_meanwhile : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (!has_fixture(GetParam())) GTEST_SKIP() << "no compiler for this fixture";
    path_ = scratch_.copy(GetParam(), "program");
  }

  // As many locations as it takes for progress to be said while names are looked up.
  profile many_locations() const {
    constexpr std::size_t enough = 20'000;
    const auto text = text_addresses(path_);
    std::vector<std::uint64_t> addresses;
    while (addresses.size() < enough) addresses.insert(addresses.end(), text.begin(), text.end());
    return profile_of(path_, addresses);
  }

  // Looks names up, and does something to the file in the middle of it.
  template <class Change>
  symbolize_result interrupted_by(profile& of, Change change) const {
    symbolize_options options;
    bool done = false;
    options.progress = [&](std::size_t, std::size_t) {
      if (!done) change();
      done = true;
    };
    return symbolize(of, options);
  }

  void expect_nothing(const profile& of, const symbolize_result& result) const {
    ASSERT_EQ(result.modules.size(), 1U);
    EXPECT_EQ(result.modules[0].symbols, module_symbols::changed);
    EXPECT_EQ(result.named, 0U);
    EXPECT_EQ(of.modules[0].symbol_advice,
              "its file was written to while names were looked up: look again with --debug-path FOLDER");
    for (const auto& place : of.locations) ASSERT_TRUE(place.symbols.empty());
  }

  scratch_folder scratch_;
  std::string path_;
};

TEST_P(symbolize_meanwhile, cut_off) {
  for (const std::uintmax_t left : {0, 4096, 12288}) {
    fs::remove(path_);
    path_ = scratch_.copy(GetParam(), "program");
    auto made = many_locations();
    const auto result = interrupted_by(made, [&] { fs::resize_file(path_, left); });
    expect_nothing(made, result);
  }
}

TEST_P(symbolize_meanwhile, written_anew_in_place) {
  auto made = many_locations();
  const auto bytes = fs::file_size(path_);
  const auto result = interrupted_by(made, [&] { std::ofstream(path_) << std::string(bytes, '\xff'); });
  expect_nothing(made, result);
}

TEST_P(symbolize_meanwhile, replaced_by_another_file) {
  auto made = many_locations();
  const auto result = interrupted_by(made, [&] {
    fs::remove(path_);
    std::ofstream(path_) << "another build";
  });
  EXPECT_EQ(result.modules.at(0).symbols, module_symbols::complete);
  EXPECT_GT(result.named, 0U);
}

TEST_P(symbolize_meanwhile, cut_off_between_opening_and_asking) {
  const auto addresses = text_addresses(path_);
  const symbols::cut_off_guard guard;
  const symbols::resolver content(symbols::find_module_files(path_, build_id_of(path_), {}), {});
  ASSERT_TRUE(content.has_debug_info());
  fs::resize_file(path_, 0);
  content.resolve(addresses, [](std::size_t, std::span<const symbols::resolved_frame>) {});
  EXPECT_TRUE(symbols::file_was_cut_off());
  EXPECT_FALSE(content.is_as_it_was());
}

INSTANTIATE_TEST_SUITE_P(symbolize, symbolize_meanwhile, ::testing::Values("gcc", "gcc_dwarf4", "clang_dwarf5"),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace heapledger::test

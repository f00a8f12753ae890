// What symbolizing does to a profile as a whole.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "symbolize_support.hpp"
#include "tool/collect/elf_traits.hpp"
#include "tool/symbolize/elf_file.hpp"

namespace heapledger::test {
namespace {

class symbolize_profile : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_fixture("gcc")) GTEST_SKIP() << "no compiler for the fixtures";
    addresses_ = text_addresses(fixture("gcc"));
  }
  std::vector<std::uint64_t> addresses_;
};

TEST_F(symbolize_profile, strings_and_frames_are_there_once) {
  auto made = profile_of(fixture("gcc"), addresses_);
  made.strings = {"main", "unrelated"};
  made.frames = {{1, none, 7}};
  symbolize(made);
  EXPECT_EQ(made.strings[0], "main");
  EXPECT_EQ(made.strings[1], "unrelated");
  EXPECT_EQ(made.frames[0], (frame_info{1, none, 7}));
  EXPECT_EQ(std::set<std::string>(made.strings.begin(), made.strings.end()).size(), made.strings.size());
  EXPECT_EQ(std::set<frame_info>(made.frames.begin(), made.frames.end()).size(), made.frames.size());
  EXPECT_TRUE(std::any_of(made.frames.begin(), made.frames.end(), [](const frame_info& f) { return f.function == 0; }));
}

TEST_F(symbolize_profile, loads_of_one_build_are_one_module_in_the_result) {
  auto made = profile_of(fixture("gcc"), addresses_);
  made.modules.push_back(made.modules[0]);
  made.modules.push_back({});
  made.modules[2].path = fixture("gcc_no_debug");
  for (std::size_t i = 0; i < made.locations.size(); ++i) made.locations[i].module = i % 2;
  made.locations.push_back({0x10, 2, {}});
  made.locations.push_back({0x7f00'0000'1234, none, {}});
  made.locations.push_back({0x7f00'0000'1234, 77, {}});
  const auto result = symbolize(made);
  ASSERT_EQ(result.modules.size(), 2u);
  EXPECT_EQ(result.modules[0].module, 0u);
  EXPECT_EQ(result.modules[0].locations, addresses_.size());
  EXPECT_EQ(result.modules[1].module, 2u);
  EXPECT_EQ(result.locations, addresses_.size() + 3);
  EXPECT_EQ(made.modules[1].symbol_advice, "");
  EXPECT_EQ(made.modules[2].symbol_advice, result.modules[1].advice);
  EXPECT_NE(made.modules[2].symbol_advice, "");
  auto chains = chains_of(made);
  chains.resize(addresses_.size());
  EXPECT_EQ(chains, symbolize_file(fixture("gcc"), addresses_));
}

TEST_F(symbolize_profile, where_stacks_end_outside_of_unwind_tables_is_known) {
  constexpr std::uint64_t in_the_header = 0x10, in_another_part_of_it = 0x20;
  auto made = profile_of(fixture("gcc"), std::vector{addresses_[0], in_the_header, in_another_part_of_it});
  made.nodes = {{}, {0, 0}, {0, 1}, {1, 2}};
  symbolize(made);
  EXPECT_FALSE(made.locations[0].lacks_rule);
  EXPECT_TRUE(made.locations[1].lacks_rule);
  EXPECT_FALSE(made.locations[2].lacks_rule) << "nothing ends there";
  made.modules[0].path = "/no/such/file";
  symbolize(made);
  EXPECT_TRUE(made.locations[1].lacks_rule) << "what was known stays known";
}

// Whatever names the machine's loader has kept.
TEST(symbolize_loader, a_stack_that_ends_where_the_process_began_is_whole) {
  const int own = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  const auto loader = read_elf_traits(own).value_or(elf_traits()).interpreter;
  close(own);
  const auto file = symbols::elf_file::open(loader);
  ASSERT_TRUE(file) << loader;
  const auto entry = file->entry_point();
  ASSERT_NE(entry, 0U) << loader;
  auto made = profile_of(loader, std::vector<std::uint64_t>{0x10, entry + 5, entry + 0x2000});
  made.nodes = {{}, {0, 0}, {0, 1}};
  symbolize(made);
  EXPECT_TRUE(made.locations[0].lacks_rule);
  EXPECT_FALSE(made.locations[1].lacks_rule);
}

TEST_F(symbolize_profile, every_load_of_a_build_keeps_the_advice_until_it_is_followed) {
  auto made = profile_of(fixture("symbols_only"), addresses_);
  made.modules.push_back(made.modules[0]);
  symbolize(made);
  for (const auto& module : made.modules)
    EXPECT_EQ(module.symbol_advice, "no source lines and no inlined functions: build it with -g");
  for (auto& module : made.modules) module.path = fixture("gcc");
  symbolize(made);
  for (const auto& module : made.modules) EXPECT_EQ(module.symbol_advice, "");
}

// A hostile profile may have as many modules as it has room for.
TEST(symbolize_many, modules_do_not_take_the_square_of_their_number) {
  profile made;
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    auto& module = made.modules.emplace_back();
    module.path = "[" + std::string(40, 'm') + std::to_string(i);
    module.symbol_advice = "old";
    made.locations.push_back({0x10, i, {}});
  }
  const auto begin = std::chrono::steady_clock::now();
  symbolize(made);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  for (const auto& module : made.modules) EXPECT_EQ(module.symbol_advice, "");
}

TEST_F(symbolize_profile, duplicate_and_unsorted_addresses) {
  std::reverse(addresses_.begin(), addresses_.end());
  auto twice = addresses_;
  twice.insert(twice.end(), addresses_.begin(), addresses_.end());
  const auto once = symbolize_file(fixture("gcc"), addresses_);
  auto expected = once;
  expected.insert(expected.end(), once.begin(), once.end());
  EXPECT_EQ(symbolize_file(fixture("gcc"), twice), expected);
}

TEST_F(symbolize_profile, what_is_known_already_is_not_lost) {
  auto made = profile_of(fixture("gcc"), addresses_);
  symbolize(made);
  const auto before = chains_of(made);
  made.modules[0].path = "/gone/to/another/machine";
  EXPECT_EQ(symbolize(made).modules.at(0).symbols, module_symbols::missing);
  EXPECT_EQ(chains_of(made), before);
  made.modules[0].path = fixture("symbols_only");
  EXPECT_EQ(symbolize(made).modules.at(0).symbols, module_symbols::functions_only);
  EXPECT_EQ(chains_of(made), before);
}

TEST_F(symbolize_profile, better_symbols_replace_poorer_ones) {
  auto made = profile_of(fixture("symbols_only"), addresses_);
  EXPECT_EQ(symbolize(made).with_lines, 0u);
  made.modules[0].path = fixture("gcc");
  EXPECT_GT(symbolize(made).with_lines, 0u);
  EXPECT_EQ(chains_of(made), symbolize_file(fixture("gcc"), addresses_));
}

TEST_F(symbolize_profile, progress_grows_to_the_total) {
  auto made = profile_of(fixture("gcc"), addresses_);
  made.locations.push_back({1, none, {}});
  std::vector<std::size_t> seen;
  symbolize_options options;
  options.progress = [&](std::size_t done, std::size_t total) {
    EXPECT_EQ(total, made.locations.size());
    seen.push_back(done);
  };
  symbolize(made, options);
  EXPECT_GT(seen.size(), 3u);
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
  EXPECT_EQ(seen.back(), made.locations.size());
}

TEST_F(symbolize_profile, empty_profile) {
  profile empty;
  EXPECT_EQ(symbolize(empty).locations, 0u);
  EXPECT_TRUE(empty.symbolized);
}

TEST_F(symbolize_profile, local_functions_are_named_with_their_scopes) {
  std::set<std::string> names;
  for (const auto& each : symbolize_file(fixture("gcc_o3"), addresses_))
    for (const auto& part : each) names.insert(part.function);
  for (const char* name :
       {"shapes::(anonymous namespace)::digit_sum", "shapes::make_shapes::{lambda}::operator()", "main",
        "plain_c_checksum", "rotated", "step", "shapes::(anonymous namespace)::circle::area() const",
        "shapes::make_shapes(int)::by_area::operator()(shapes::shape const*, shapes::shape const*) const"})
    EXPECT_TRUE(names.count(name)) << name;
}

std::set<std::string> functions_of(const std::string& program) {
  std::set<std::string> names;
  for (const auto& each : symbolize_file(program, text_addresses(program)))
    for (const auto& part : each) names.insert(part.function);
  return names;
}

// Modules of Fortran have procedures of the same names: init, allocate_fields.
TEST_F(symbolize_profile, procedures_of_fortran_are_named_with_their_modules) {
  EXPECT_TRUE(functions_of(fixture("fortran_module")).count("numbers::fill"));
}

TEST_F(symbolize_profile, procedures_of_ada_are_named_with_their_scopes_once) {
  EXPECT_TRUE(functions_of(fixture("ada_procedure")).count("outer__inner"));
}

// DWARF 2 does not say where a function was inlined.
TEST_F(symbolize_profile, a_file_that_is_not_known_has_no_name) {
  const auto program = fixture("gcc_dwarf2");
  std::set<std::string> files;
  for (const auto& each : symbolize_file(program, text_addresses(program)))
    for (const auto& part : each) files.insert(part.file);
  EXPECT_TRUE(files.count(""));
  EXPECT_FALSE(files.count("???"));
}

TEST_F(symbolize_profile, an_empty_function_lends_its_name_to_nobody) {
  const auto names = functions_of(fixture("unsized"));
  EXPECT_TRUE(names.count("written_by_hand"));
  EXPECT_FALSE(names.count("empty()"));
}

}  // namespace
}  // namespace heapledger::test

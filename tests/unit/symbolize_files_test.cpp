// Where debug information is found, which files are believed, and what the user is told about the others.
#include <sys/stat.h>

#include <algorithm>
#include <fstream>

#include "symbolize_support.hpp"
#include "tool/symbolize/elf_file.hpp"

namespace heapledger::test {
namespace {

namespace fs = std::filesystem;

class symbolize_files : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_fixture("gcc")) GTEST_SKIP() << "no compiler for the fixtures";
    for (const auto address : text_addresses(fixture("gcc")))
      if (address % 16 == 0) addresses_.push_back(address);
    expected_ = symbolize_file(fixture("gcc"), addresses_);
    ASSERT_GT(with_lines(expected_), addresses_.size() / 2);
  }

  static std::size_t with_lines(const std::vector<chain>& chains) {
    return static_cast<std::size_t>(std::count_if(chains.begin(), chains.end(),
                                                  [](const chain& each) { return !each.empty() && each[0].line > 0; }));
  }

  void put_by_build_id(const std::string& fixture_name, const fs::path& root) const {
    const auto id = build_id_of(fixture("gcc"));
    scratch_.copy(fixture_name, (root / ".build-id" / id.substr(0, 2) / (id.substr(2) + ".debug")).string());
  }

  symbolized_module run(const std::string& path, const std::string& build_id) {
    profile_ = profile_of(path, addresses_);
    profile_.modules[0].build_id = build_id;
    const auto result = symbolize(profile_, options_);
    EXPECT_TRUE(profile_.symbolized);
    EXPECT_EQ(result.modules.size(), 1u);
    EXPECT_EQ(result.locations, addresses_.size());
    EXPECT_EQ(result.named, result.modules.at(0).named);
    return result.modules.at(0);
  }

  void expect_all(const symbolized_module& summary) {
    EXPECT_EQ(summary.symbols, module_symbols::complete);
    EXPECT_EQ(summary.advice, "");
    EXPECT_EQ(chains_of(profile_), expected_);
  }

  void expect_nothing(const symbolized_module& summary, module_symbols state) {
    EXPECT_EQ(summary.symbols, state);
    EXPECT_EQ(summary.named, 0u);
    EXPECT_EQ(summary.with_lines, 0u);
    EXPECT_TRUE(std::all_of(profile_.locations.begin(), profile_.locations.end(),
                            [](const location& place) { return place.symbols.empty(); }));
  }

  void expect_exports(const symbolized_module& summary) {
    EXPECT_EQ(summary.symbols, module_symbols::exports_only);
    EXPECT_LT(summary.named, addresses_.size() / 2);
    EXPECT_EQ(summary.with_lines, 0u);
    EXPECT_EQ(summary.advice, "only exported functions have names: build it with -g");
  }

  scratch_folder scratch_;
  std::vector<std::uint64_t> addresses_;
  std::vector<chain> expected_;
  symbolize_options options_;
  profile profile_;
};

TEST_F(symbolize_files, link_beside_the_program) {
  const auto program = scratch_.copy("separate", "bin/separate");
  scratch_.copy("separate.debug", "bin/separate.debug");
  expect_all(run(program, build_id_of(program)));
}

TEST_F(symbolize_files, link_in_the_debug_folder_beside_the_program) {
  const auto program = scratch_.copy("separate", "bin/separate");
  scratch_.copy("separate.debug", "bin/.debug/separate.debug");
  expect_all(run(program, build_id_of(program)));
}

TEST_F(symbolize_files, link_under_a_debug_path) {
  const auto program = scratch_.copy("separate", "bin/separate");
  scratch_.copy("separate.debug", "debug/" + scratch_.path().relative_path().string() + "/bin/separate.debug");
  options_.debug.folders = {(scratch_.path() / "debug").string()};
  expect_all(run(program, build_id_of(program)));
}

TEST_F(symbolize_files, link_without_build_id_is_checked_by_its_sum) {
  const auto program = scratch_.copy("linked", "bin/linked");
  const auto debug = scratch_.copy("linked.debug", "bin/linked.debug");
  expect_all(run(program, ""));
  std::ofstream(debug, std::ios::app) << "x";
  expect_exports(run(program, ""));
}

TEST_F(symbolize_files, link_to_another_build_is_not_believed) {
  const auto program = scratch_.copy("separate", "bin/separate");
  scratch_.copy("gcc_o3", "bin/separate.debug");
  expect_exports(run(program, build_id_of(program)));
}

TEST_F(symbolize_files, build_id_folder) {
  const auto program = scratch_.copy("stripped", "bin/stripped");
  put_by_build_id("separate.debug", "debug");
  expect_exports(run(program, build_id_of(program)));
  options_.debug.folders = {(scratch_.path() / "debug").string()};
  expect_all(run(program, build_id_of(program)));
}

TEST_F(symbolize_files, another_machine_with_the_debug_file_alone) {
  put_by_build_id("separate.debug", "debug");
  options_.debug.folders = {(scratch_.path() / "debug").string()};
  expect_all(run("/opt/of/another/machine/program", build_id_of(fixture("gcc"))));
}

TEST_F(symbolize_files, what_is_fetched_is_believed_by_its_build_id) {
  const auto program = scratch_.copy("stripped", "bin/stripped");
  const auto id = build_id_of(program);
  std::vector<std::string> asked;
  std::string given = fixture("separate.debug");
  options_.debug.fetch = [&](const std::string& build_id, const std::string& of) {
    asked.push_back(build_id + " " + of);
    return given;
  };
  expect_all(run(program, id));
  expect_all(run("/opt/of/another/machine/program", id));
  EXPECT_EQ(asked, (std::vector<std::string>{id + " stripped", id + " program"}));
  for (const std::string& wrong : {std::string(), std::string("/nowhere"), fixture("gcc_o3")}) {
    given = wrong;
    expect_exports(run(program, id));
  }
}

TEST_F(symbolize_files, nothing_is_fetched_that_is_here_or_has_no_build_id) {
  options_.debug.fetch = [](const std::string& build_id, const std::string&) -> std::string {
    ADD_FAILURE() << "asked for " << build_id;
    return {};
  };
  expect_all(run(fixture("gcc"), build_id_of(fixture("gcc"))));
  run("/opt/of/another/machine/program", "");
  run("/opt/of/another/machine/program", "../../../etc");
}

TEST_F(symbolize_files, another_machine_with_a_copy_of_the_program) {
  scratch_.copy("gcc", "copies/program");
  options_.debug.folders = {(scratch_.path() / "copies").string()};
  expect_all(run("/opt/of/another/machine/program", build_id_of(fixture("gcc"))));
  scratch_.copy("gcc", "root/opt/of/another/machine/program");
  options_.debug.folders = {(scratch_.path() / "root").string()};
  expect_all(run("/opt/of/another/machine/program", build_id_of(fixture("gcc"))));
}

TEST_F(symbolize_files, a_copy_of_another_build_is_not_believed) {
  scratch_.copy("gcc_o3", "copies/program");
  options_.debug.folders = {(scratch_.path() / "copies").string()};
  const auto summary = run("/opt/of/another/machine/program", build_id_of(fixture("gcc")));
  expect_nothing(summary, module_symbols::missing);
  EXPECT_NE(summary.advice.find("not on this machine"), std::string::npos) << summary.advice;
}

TEST_F(symbolize_files, rebuilt_since) {
  const auto program = scratch_.copy("gcc_o3", "bin/program");
  const auto summary = run(program, build_id_of(fixture("gcc")));
  expect_nothing(summary, module_symbols::changed);
  EXPECT_NE(summary.advice.find(build_id_of(program).substr(0, 12)), std::string::npos) << summary.advice;
  EXPECT_NE(summary.advice.find("profile again"), std::string::npos) << summary.advice;
}

TEST_F(symbolize_files, rebuilt_since_and_the_old_debug_file_kept) {
  const auto program = scratch_.copy("gcc_o3", "bin/program");
  put_by_build_id("separate.debug", "debug");
  options_.debug.folders = {(scratch_.path() / "debug").string()};
  expect_all(run(program, build_id_of(fixture("gcc"))));
}

TEST_F(symbolize_files, deleted) {
  const auto program = scratch_.copy("gcc", "bin/program");
  expect_all(run(program + " (deleted)", build_id_of(program)));
  expect_nothing(run(program + " (deleted)", ""), module_symbols::missing);
  fs::remove(program);
  expect_nothing(run(program + " (deleted)", build_id_of(fixture("gcc"))), module_symbols::missing);
}

TEST_F(symbolize_files, relative_names_need_a_build_id) {
  const auto program = fs::relative(fixture("gcc")).string();
  expect_all(run(program, build_id_of(fixture("gcc"))));
  expect_nothing(run(program, ""), module_symbols::missing);
}

TEST_F(symbolize_files, no_file_at_all) {
  for (const char* name : {"linux-vdso.so.1", "[vdso]", ""}) {
    const auto summary = run(name, "");
    expect_nothing(summary, module_symbols::virtual_module);
    EXPECT_EQ(summary.advice, "");
  }
}

TEST_F(symbolize_files, what_is_no_elf_file_is_not_opened_for_long) {
  const auto pipe = (scratch_.path() / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto text = (scratch_.path() / "text").string();
  std::ofstream(text) << "not an ELF file";
  const auto empty = (scratch_.path() / "empty").string();
  std::ofstream(empty) << "";
  for (const auto& path :
       {pipe, text, empty, scratch_.path().string(), std::string("/dev/zero"), std::string("/dev/tty")})
    expect_nothing(run(path, ""), module_symbols::missing);
}

TEST_F(symbolize_files, symbol_table_only) {
  const auto program = scratch_.copy("symbols_only", "bin/program");
  const auto summary = run(program, build_id_of(program));
  EXPECT_EQ(summary.symbols, module_symbols::functions_only);
  EXPECT_GT(summary.named, addresses_.size() / 2);
  EXPECT_EQ(summary.with_lines, 0u);
  EXPECT_EQ(summary.advice, "no source lines and no inlined functions: build it with -g");
}

TEST_F(symbolize_files, functions_that_were_left_in_a_stripped_program) {
  if (!has_fixture("mini")) GTEST_SKIP() << "xz is not installed";
  const auto whole = scratch_.copy("symbols_only", "bin/program");
  run(whole, build_id_of(whole));
  const auto expected = chains_of(profile_);
  const auto program = scratch_.copy("mini", "bin/mini");
  const auto summary = run(program, build_id_of(program));
  EXPECT_EQ(summary.symbols, module_symbols::functions_only);
  EXPECT_EQ(chains_of(profile_), expected);
}

TEST_F(symbolize_files, debug_information_in_an_unknown_compression_is_said) {
  const auto program = scratch_.copy("gcc_compressed", "bin/program");
  const auto file = symbols::elf_file::open(program);
  ASSERT_NE(file, nullptr);
  std::fstream bytes(program, std::ios::in | std::ios::out | std::ios::binary);
  const auto packed = file->bytes_of(".debug_info");
  const std::string head(packed.begin(), packed.begin() + sizeof(Elf64_Chdr));
  std::string whole(std::istreambuf_iterator<char>(bytes), {});
  const auto at = whole.find(head);
  ASSERT_NE(at, std::string::npos);
  bytes.clear();
  bytes.seekp(static_cast<std::streamoff>(at)).put(99);  // the type of compression
  bytes.close();
  const auto summary = run(program, "");
  EXPECT_EQ(summary.with_lines, 0u);
  EXPECT_NE(summary.advice.find("cannot be read"), std::string::npos) << summary.advice;
}

TEST_F(symbolize_files, missing_dwz_file_is_said) {
  if (!has_fixture("dwz_first")) GTEST_SKIP() << "dwz is not installed";
  const auto program = scratch_.copy("dwz_first", "bin/program");
  const auto summary = run(program, build_id_of(program));
  EXPECT_EQ(summary.symbols, module_symbols::complete);
  EXPECT_NE(summary.advice.find("dwz"), std::string::npos) << summary.advice;
  options_.debug.fetch = [&](const std::string&, const std::string& of) { return fixture(of); };
  expect_all(run(program, build_id_of(program)));
  options_.debug.fetch = {};
  scratch_.copy("dwz_common", "bin/dwz_common");
  expect_all(run(program, build_id_of(program)));
}

}  // namespace
}  // namespace heapledger::test

// Every byte of the fixtures' code, and thousands of addresses of the libc, against llvm-symbolizer.
#include <cxxabi.h>
#include <fmt/format.h>
#include <gnu/libc-version.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <random>

#include "symbolize_support.hpp"
#include "tool/symbolize/debug_files.hpp"
#include "tool/symbolize/demangle.hpp"

namespace heapledger::test {
namespace {

// Debug information calls foo.cold and foo.part.0 what they are parts of.
std::string without_clone(const std::string& name) {
  return name.substr(0, name.find('.'));
}

std::string readable(const std::string& name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  if (!name.starts_with("_Z")) return name;
  return status == 0 && text ? text.get() : demangle(name);  // what its own compiler makes of a requires-clause
}

// GCC 16 gives a function with such a clause two symbols: the oracle takes the one, debug information has the other. Of
// that, what stands before the clause may be the name alone.
std::string without_clause(const std::string& name) {
  return name.substr(0, name.find(" requires "));
}

// Functions local to a file have no mangled name in GCC's debug information; the oracle then knows the last part only.
bool same_function(const std::string& ours, const std::string& theirs) {
  return without_clause(ours) == without_clause(theirs) || ours.ends_with("::" + theirs) ||
         (ours.ends_with('>') && theirs.find(' ' + ours + '(') != std::string::npos);
}

std::string normal(const std::string& path) {
  auto text = std::filesystem::path(path).lexically_normal().string();
  while (text.starts_with("../")) text.erase(0, 3);
  return text;
}

// The oracle names the compilation's folder in front of a relative path, and twice where it is itself relative, as in
// Debian's libc.
bool same_file(const std::string& ours, const std::string& theirs) {
  const auto a = normal(ours);
  const auto b = normal(theirs);
  return a == b || (!a.starts_with('/') && b.ends_with("/" + a));
}

bool same(const chain& ours, const chain& theirs) {
  if (ours.size() != theirs.size()) return false;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].line != theirs[i].line) return false;
    const auto& name = theirs[i].function;
    if (!same_function(ours[i].function, readable(ours[i].file.empty() ? name : without_clone(name)))) return false;
    // Without a line the oracle falls back to a file's name in the symbol table, a name without a folder.
    if (theirs[i].line == 0 && ours[i].file.empty()) continue;
    if (!same_file(ours[i].file, theirs[i].file)) return false;
  }
  return true;
}

struct comparison {
  std::size_t addresses = 0;
  std::size_t inlined = 0;
  std::size_t with_lines = 0;
  std::size_t different = 0;
  std::string first;
};

comparison compare(std::span<const std::uint64_t> addresses, const std::vector<chain>& ours,
                   const std::vector<chain>& theirs) {
  comparison result;
  EXPECT_EQ(ours.size(), addresses.size());
  EXPECT_EQ(theirs.size(), addresses.size());
  for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); ++i) {
    ++result.addresses;
    result.inlined += ours[i].size() > 1;
    result.with_lines += !ours[i].empty() && ours[i][0].line > 0;
    if (same(ours[i], theirs[i])) continue;
    if (result.different++ == 0)
      result.first =
          fmt::format("{:#x}\n  ours:{}\n  oracle:{}", addresses[i], to_string(ours[i]), to_string(theirs[i]));
  }
  return result;
}

struct variant {
  const char* name;
  const char* asked;  // a fixture with the same code, where the oracle cannot read this one whole
  bool has_lines = true;
};

void PrintTo(const variant& value, std::ostream* out) {
  *out << value.name;
}

class every_address : public ::testing::TestWithParam<variant> {};

TEST_P(every_address, is_what_the_oracle_says) {
  const auto [name, asked, has_lines] = GetParam();
  if (!has_llvm() || !has_fixture(name)) GTEST_SKIP() << "no llvm-symbolizer, or no compiler for this fixture";
  const auto addresses = text_addresses(fixture(name));
  ASSERT_GT(addresses.size(), 10'000u);
  ASSERT_EQ(addresses, text_addresses(fixture(asked)));
  const auto result = compare(addresses, symbolize_file(fixture(name), addresses),
                              ask_llvm(fixture(asked), addresses, oracle_names::linkage));
  EXPECT_EQ(result.different, 0u) << "of " << result.addresses << ", the first " << result.first;
  if (has_lines) {
    EXPECT_GT(result.with_lines, result.addresses / 2);
  } else {
    EXPECT_EQ(result.with_lines, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(symbolize, every_address,
                         ::testing::Values(variant{"gcc", "gcc"}, variant{"gcc_o0", "gcc_o0"},
                                           variant{"gcc_o3", "gcc_o3"}, variant{"gcc_dwarf4", "gcc_dwarf4"},
                                           variant{"gcc_compressed", "gcc_compressed"},
                                           variant{"gcc_sections", "gcc_sections"}, variant{"gcc_lto", "gcc_lto"},
                                           variant{"gcc_fixed", "gcc_fixed"}, variant{"clang_dwarf4", "clang_dwarf4"},
                                           variant{"clang_dwarf5", "clang_dwarf5"},
                                           variant{"gcc_no_debug", "gcc_no_debug", false},
                                           // llvm-symbolizer 14 loses inlined functions of .dwo files, reads no file of
                                           // dwz, and without a symbol table has no names of local functions.
                                           variant{"gcc_split", "gcc"}, variant{"dwz_first", "gcc"},
                                           variant{"separate", "gcc"}, variant{"linked", "gcc"}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(symbolize_oracle, libc_with_its_debug_file) {
  const std::string path = "/lib/x86_64-linux-gnu/libc.so.6";
  if (!has_llvm() || !symbols::find_module_files(path, build_id_of(path), {}).debug)
    GTEST_SKIP() << "no llvm-symbolizer, or libc6-dbg is not installed";
  auto text = text_addresses(path);
  std::mt19937_64 random(20260101);
  std::vector<std::uint64_t> addresses(8000);
  for (auto& address : addresses) address = text[random() % text.size()];
  auto ours = symbolize_file(path, addresses);
  auto theirs = ask_llvm(path, addresses, oracle_names::source);
  for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
    // In this mode the oracle does not use the symbol table: nothing to compare with but the line.
    if (ours[i].size() != 1 || (!theirs[i].empty() && !theirs[i][0].function.empty())) continue;
    ours[i][0].function.clear();
    if (ours[i][0] == frame{}) ours[i].clear();
  }
  const auto result = compare(addresses, ours, theirs);
  EXPECT_EQ(result.different, 0u) << "of " << result.addresses << ", the first " << result.first;
  EXPECT_GT(result.with_lines, result.addresses * 9 / 10);
  EXPECT_GT(result.inlined, result.addresses / 20);
}

}  // namespace
}  // namespace heapledger::test

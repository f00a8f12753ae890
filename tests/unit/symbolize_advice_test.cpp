#include "tool/symbolize/advice.hpp"

#include <fstream>

#include "symbolize_support.hpp"
#include "tool/symbolize/packages.hpp"

namespace heapledger::test {
namespace {

TEST(symbolize_advice, names_the_package_with_the_debug_information) {
  EXPECT_EQ(symbols::advice_for(module_symbols::exports_only, "libstdc++6", "", ""),
            "only exported functions have names: install libstdc++6-dbgsym");
  EXPECT_EQ(symbols::advice_for(module_symbols::exports_only, "libc6", "", ""),
            "only exported functions have names: install libc6-dbg");
  EXPECT_EQ(symbols::advice_for(module_symbols::nothing, "", "", ""), "no symbols: build it with -g");
  EXPECT_EQ(symbols::advice_for(module_symbols::complete, "bash", "", ""), "");
}

TEST(symbolize_packages, are_found_in_the_lists_of_dpkg) {
  const scratch_folder scratch;
  const auto database = scratch.path() / "info";
  std::filesystem::create_directories(database);
  std::ofstream(database / "libfoo1:amd64.list") << "/.\n/usr/lib/libfoo.so.1\n";
  std::ofstream(database / "bar.list") << "/usr/bin/bar\n/lib/libbar.so\n";
  std::ofstream(database / "bar.md5sums") << "/opt/own\n";
  EXPECT_EQ(symbols::owning_packages({"/lib/libfoo.so.1", "/usr/bin/bar", "/usr/lib/libbar.so", "/opt/own"},
                                     database.string()),
            (std::vector<std::string>{"libfoo1", "bar", "bar", ""}));
  EXPECT_EQ(symbols::owning_packages({"/usr/bin/bar"}, (database / "none").string()), std::vector<std::string>{""});
}

}  // namespace
}  // namespace heapledger::test

// Suppressions as LeakSanitizer has them, and one clear line for what is none.
#include <gtest/gtest.h>

#include "report_sample.hpp"
#include "tool/analyse/frames.hpp"
#include "tool/leaks/stack_choice.hpp"
#include "tool/leaks/suppressions.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::leaks {
namespace {

TEST(leaks_suppressions, patterns_are_looked_for_anywhere) {
  EXPECT_TRUE(pattern_matches("parse", "server::parse_line"));
  EXPECT_TRUE(pattern_matches("ser*line", "server::parse_line"));
  EXPECT_TRUE(pattern_matches("^server*line$", "server::parse_line"));
  EXPECT_TRUE(pattern_matches("a*b*c", "xaybzbc"));
  EXPECT_TRUE(pattern_matches("a*bc$", "a bcd bc"));
  EXPECT_FALSE(pattern_matches("^parse", "server::parse_line"));
  EXPECT_FALSE(pattern_matches("parse$", "server::parse_line"));
  EXPECT_FALSE(pattern_matches("a*b*c", "acb"));
  EXPECT_FALSE(pattern_matches("^ab$", "abb"));
  EXPECT_FALSE(pattern_matches("x", ""));
}

TEST(leaks_suppressions, function_file_and_module_of_any_frame_count) {
  sample::profile_builder builder;
  builder.stack({{"make", "/src/node.cpp", 5}, {"main", "/src/main.cpp", 9, "/usr/lib/libplugin.so.2"}}, {});
  const auto p = builder.build();
  const auto says = [&](const char* text) { return suppressions::parse(text, "s").matches(p, p.stacks[0].node); };
  EXPECT_TRUE(says("leak:make"));
  EXPECT_TRUE(says("leak:node.cpp"));
  EXPECT_TRUE(says("leak:libplugin.so"));
  EXPECT_TRUE(says("# known\n\n  leak:^main$\r\n"));
  EXPECT_FALSE(says("leak:other\nleak:makes"));
  EXPECT_FALSE(says("# leak:make\n"));
}

TEST(leaks_suppressions, the_ends_of_a_function_are_those_that_a_report_shows) {
  EXPECT_TRUE(pattern_matches_function("^leaf$", "leaf(unsigned long)"));
  EXPECT_TRUE(pattern_matches_function("^leaf(*)$", "leaf(unsigned long)"));
  EXPECT_TRUE(pattern_matches_function("^ns::grow<int>$", "void ns::grow<int>(char const*) const"));
  EXPECT_TRUE(pattern_matches_function("^void ns", "void ns::grow<int>(char const*) const"));
  EXPECT_FALSE(pattern_matches_function("^leaf$", "leaflet(int)"));
  EXPECT_FALSE(pattern_matches_function("^leaf$", "tree::leaf(int)"));
  sample::profile_builder builder;
  builder.stack({{"leaf(int)", "a.cpp", 5}, {"main", "a.cpp", 9}}, {});
  builder.stack({{"leaflet(int)", "a.cpp", 7}, {"main", "a.cpp", 10}}, {});
  const auto p = builder.build();
  const std::vector<std::string> leaf = {"^leaf$"};
  EXPECT_EQ(stacks_with(p, leaf), (std::vector<bool>{true, false}));
  EXPECT_TRUE(suppressions::parse("leak:^leaf$", "s").matches(p, p.stacks[0].node));
  EXPECT_FALSE(suppressions::parse("leak:^leaf$", "s").matches(p, p.stacks[1].node));
}

std::string complaint(const char* text) {
  try {
    suppressions::parse(text, "known.txt");
  } catch (const input_error& error) {
    return error.what();
  }
  return "";
}

TEST(leaks_suppressions, a_bad_line_is_named) {
  EXPECT_EQ(complaint("leak:a\nmake"), "known.txt:2: 'make' is no suppression; write leak:PATTERN, or # and a comment");
  EXPECT_EQ(complaint("race:a"), "known.txt:1: 'race' is no kind of suppression here; write leak:PATTERN");
  EXPECT_EQ(complaint("\n\nleak:"),
            "known.txt:3: the pattern is empty; write what is to match, such as leak:libfoo.so");
  EXPECT_EQ(complaint("leak:*"), "known.txt:1: the pattern is empty; write what is to match, such as leak:libfoo.so");
  const std::string letters = std::string(76, 'x') + "\xc3\xa9" + std::string(1 << 20, 'y');
  EXPECT_EQ(complaint(letters.c_str()),
            "known.txt:1: '" + std::string(76, 'x') + "...' is no suppression; write leak:PATTERN, or # and a comment");
  EXPECT_EQ(complaint((letters + ":a").c_str()),
            "known.txt:1: '" + std::string(76, 'x') + "...' is no kind of suppression here; write leak:PATTERN");
  EXPECT_EQ(complaint("leak:\x1b[2J"), "");
  EXPECT_THROW(suppressions::read("/nonexistent/file"), input_error);
  EXPECT_THROW(suppressions::read("/"), input_error);
}

TEST(stack_choice, finds_functions_files_and_modules) {
  sample::profile_builder builder;
  builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, {"parse", "src/parse.cpp", 3}, {"main", "main.cpp", 9}}, {});
  builder.stack(
      {{"malloc", "", 0, "/lib/libc.so.6"}, {"plugin_init", "", 0, "/lib/libplugin.so"}, {"main", "main.cpp", 9}}, {});
  builder.stack({}, {});
  const profile p = builder.build();
  const auto with = [&](std::vector<std::string> patterns) { return stacks_with(p, patterns); };
  EXPECT_EQ(with({"parse"}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(with({"^parse$"}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(with({"^arse"}), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(with({"parse.cpp$"}), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(with({"libplugin"}), (std::vector<bool>{false, true, false}));
  EXPECT_EQ(with({"libplugin", "src/*.cpp"}), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(with({"main"}), (std::vector<bool>{true, true, false}));
  EXPECT_EQ(with({}), (std::vector<bool>{false, false, false}));
}

TEST(stack_choice, finds_what_has_no_name_by_what_a_report_shows) {
  sample::profile_builder builder;
  builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, {"", "", 0, "/lib/libplugin.so"}}, {});
  builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, {"main", "main.cpp", 9}}, {});
  const profile p = builder.build();
  const auto& place = p.locations[p.nodes[p.nodes[p.stacks[0].node].parent].location];
  const auto shown = analyse::address_name(p, place);
  EXPECT_TRUE(shown.starts_with("libplugin.so+0x")) << shown;
  for (const auto& pattern : {shown, "^" + shown + "$"}) {
    EXPECT_EQ(stacks_with(p, std::vector{pattern}), (std::vector<bool>{true, false})) << pattern;
    EXPECT_TRUE(suppressions::parse("leak:" + pattern, "s").matches(p, p.stacks[0].node)) << pattern;
    EXPECT_FALSE(suppressions::parse("leak:" + pattern, "s").matches(p, p.stacks[1].node)) << pattern;
  }
}

}  // namespace
}  // namespace heapledger::leaks

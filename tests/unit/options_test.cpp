#include "tool/cli/options.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tool/cli/suggest.hpp"

namespace heapledger::cli {
namespace {

using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

invocation parsed(const words& given, const variables& environment = {}) {
  return parse(given, [&](const char* name) -> const char* {
    const auto found = environment.find(name);
    return found == environment.end() ? nullptr : found->second.c_str();
  });
}

run_options run_of(const words& given, const variables& environment = {}) {
  const invocation result = parsed(given, environment);
  if (const auto* text = std::get_if<spoken>(&result)) {
    ADD_FAILURE() << text->text;
    return {};
  }
  return std::get<run_options>(result);
}

// The line that is said instead; empty, and a failure, when there was nothing to say.
std::string refusal(const words& given, const variables& environment = {}) {
  const invocation result = parsed(given, environment);
  const auto* text = std::get_if<spoken>(&result);
  if (text == nullptr) {
    ADD_FAILURE() << "accepted";
    return {};
  }
  EXPECT_EQ(text->exit_status, exit_usage);
  EXPECT_EQ(text->text.find('\n'), text->text.size() - 1) << text->text;
  return text->text;
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(run_options, everything_after_the_program_is_the_programs) {
  const std::vector<std::pair<words, words>> cases = {
      {{"run", "ls"}, {"ls"}},
      {{"run", "--", "ls", "-la"}, {"ls", "-la"}},
      {{"run", "ls", "-la", "--output", "x", "-f"}, {"ls", "-la", "--output", "x", "-f"}},
      {{"run", "ls", "--", "x"}, {"ls", "--", "x"}},
      {{"run", "--", "--", "x"}, {"--", "x"}},
      {{"run", "--", "-odd-name"}, {"-odd-name"}},
      {{"run", "ls", "--help"}, {"ls", "--help"}},
      {{"run", "test", "[", "a", "=", "b", "]"}, {"test", "[", "a", "=", "b", "]"}},
      {{"run", "echo", "[a,b]", "{}", "", "%%", "a\nb"}, {"echo", "[a,b]", "{}", "", "%%", "a\nb"}},
      {{"run", "run", "run"}, {"run", "run"}},
      {{"run", "-", "x"}, {"-", "x"}},
  };
  for (const auto& [given, command] : cases) EXPECT_EQ(run_of(given).command, command);
}

TEST(run_options, options_before_the_program_are_ours) {
  const auto options = run_of({"run", "-o", "a.hlp", "-fqv", "--stacks=fp", "--depth", "7", "--interval=0",
                               "--no-follow", "--only", "nginx", "--only", "[ab]", "-v", "ls", "-o", "b"});
  EXPECT_EQ(options.output, "a.hlp");
  EXPECT_TRUE(options.force);
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.verbose, 2);
  EXPECT_EQ(options.stacks, "fp");
  EXPECT_EQ(options.depth, 7U);
  EXPECT_EQ(options.interval_ms, 0U);
  EXPECT_FALSE(options.follow);
  EXPECT_EQ(options.only, (words{"nginx", "[ab]"}));
  EXPECT_EQ(options.command, (words{"ls", "-o", "b"}));
}

TEST(run_options, short_options_take_their_value_in_every_spelling) {
  for (const words& given : {words{"run", "-o", "x", "ls"},
                             {"run", "-ox", "ls"},
                             {"run", "-fo", "x", "ls"},
                             {"run", "--output=x", "ls"},
                             {"run", "--output", "x", "ls"},
                             {"run", "-o", "y", "-o", "x", "--", "ls"}}) {
    const auto options = run_of(given);
    EXPECT_EQ(options.output, "x");
    EXPECT_EQ(options.command, words{"ls"});
  }
  EXPECT_EQ(run_of({"run", "-o", "[x].hlp", "ls"}).output, "[x].hlp");
  EXPECT_EQ(run_of({"run", "-o", "[x]", "ls"}).output, "[x]");
}

TEST(run_options, defaults) {
  const auto options = run_of({"run", "ls"});
  EXPECT_EQ(options.output, "");
  EXPECT_FALSE(options.force);
  EXPECT_EQ(options.stacks, "dwarf");
  EXPECT_EQ(options.depth, 0U);
  EXPECT_EQ(options.interval_ms, 100U);
  EXPECT_TRUE(options.follow);
  EXPECT_TRUE(options.only.empty());
  EXPECT_FALSE(options.check);
  EXPECT_FALSE(options.quiet);
  EXPECT_EQ(options.verbose, 0);
}

TEST(run_options, the_environment_stands_in_for_what_is_not_given) {
  const variables environment = {{"HEAPLEDGER_OUTPUT", "e.hlp"}, {"HEAPLEDGER_FORCE", "1"},
                                 {"HEAPLEDGER_STACKS", "off"},   {"HEAPLEDGER_DEPTH", "9"},
                                 {"HEAPLEDGER_INTERVAL", "20"},  {"HEAPLEDGER_NO_FOLLOW", "yes"},
                                 {"HEAPLEDGER_ONLY", "a*:b"},    {"HEAPLEDGER_QUIET", "true"},
                                 {"HEAPLEDGER_VERBOSE", "2"},    {"HEAPLEDGER_LEAKS", "0"}};
  const auto options = run_of({"run", "ls"}, environment);
  EXPECT_EQ(options.output, "e.hlp");
  EXPECT_TRUE(options.force);
  EXPECT_EQ(options.stacks, "off");
  EXPECT_EQ(options.depth, 9U);
  EXPECT_EQ(options.interval_ms, 20U);
  EXPECT_FALSE(options.follow);
  EXPECT_EQ(options.only, (words{"a*", "b"}));
  EXPECT_TRUE(options.quiet);
  EXPECT_EQ(options.verbose, 2);

  const auto given = run_of({"run", "--depth", "3", "--only", "c", "ls"}, environment);
  EXPECT_EQ(given.depth, 3U);
  EXPECT_EQ(given.only, words{"c"});
  EXPECT_EQ(run_of({"run", "ls"}, {{"HEAPLEDGER_DEPTH", ""}}).depth, 0U);
  EXPECT_TRUE(run_of({"run", "ls"}, {{"HEAPLEDGER_NO_FOLLOW", "0"}}).follow);
}

TEST(run_options, wrong_values_are_refused_with_the_good_ones) {
  EXPECT_SAYS(refusal({"run", "--stacks", "foo", "ls"}), "--stacks: 'foo' is none of dwarf, fp, off");
  EXPECT_SAYS(refusal({"run", "ls"}, {{"HEAPLEDGER_STACKS", "foo"}}), "HEAPLEDGER_STACKS: 'foo'");
  EXPECT_SAYS(refusal({"run", "ls"}, {{"HEAPLEDGER_FORCE", "maybe"}}), "HEAPLEDGER_FORCE: 'maybe'");
  for (const char* number : {"-1", "x", "", "1x", " 1", "4294967296", "1.5"}) {
    EXPECT_SAYS(refusal({"run", "--depth", number, "ls"}), "--depth");
  }
  EXPECT_SAYS(refusal({"run", "--interval", "3600001", "ls"}), "3600000");
  EXPECT_SAYS(refusal({"run", "--output=", "ls"}), "--output needs");
  EXPECT_SAYS(refusal({"run", "--force=3", "ls"}), "--force takes no value");
  EXPECT_SAYS(refusal({"run", "-o"}), "--output needs a value");
}

TEST(run_options, wrong_usage_says_what_to_type) {
  EXPECT_SAYS(refusal({"run"}), "which program?");
  EXPECT_SAYS(refusal({"run", "-f", "--"}), "which program?");
  EXPECT_SAYS(refusal({"run", "--forse", "ls"}), "did you mean --force?");
  EXPECT_SAYS(refusal({"run", "--xyzzy", "ls"}), "heapledger run --help");
  EXPECT_SAYS(refusal({"run", "-z", "ls"}), "unknown option -z");
  EXPECT_SAYS(refusal({"run", "--leaks", "ls"}), "not in this version");
  EXPECT_SAYS(refusal({"run", "ls"}, {{"HEAPLEDGER_LEAKS", "1"}}), "not in this version");
}

TEST(report_options, are_taken) {
  const auto result = parsed({"report", "--json", "a.hlp", "--by", "peak", "--top=5", "--depth", "3", "--debug-path",
                              "/x", "--debug-path", "/y", "--full-recursion"});
  const auto& options = std::get<report_options>(result);
  EXPECT_EQ(options.file, "a.hlp");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.by, "peak");
  EXPECT_EQ(options.top, 5U);
  EXPECT_EQ(options.depth, 3U);
  EXPECT_TRUE(options.full_recursion);
  EXPECT_EQ(options.debug_paths, (words{"/x", "/y"}));
  EXPECT_EQ(std::get<report_options>(parsed({"report", "--", "--odd.hlp"})).file, "--odd.hlp");
  EXPECT_EQ(std::get<report_options>(parsed({"report", "[a].hlp"})).file, "[a].hlp");
  EXPECT_EQ(std::get<report_options>(parsed({"report", "[a]"})).file, "[a]");
  EXPECT_EQ(std::get<report_options>(parsed({"report"})).file, "");  // the command says which there are
}

TEST(report_options, wrong_usage_says_what_to_type) {
  EXPECT_SAYS(refusal({"report", "a", "b"}), "'b' is one argument too many");
  EXPECT_SAYS(refusal({"report", "--by", "size", "a"}), "live, peak, allocated, count, temporary");
  EXPECT_SAYS(refusal({"report", "--top", "0", "a"}), "--top");
  EXPECT_SAYS(refusal({"report", "--jsn", "a"}), "did you mean --json?");
}

TEST(html_options, name_the_page) {
  const auto plain = std::get<html_options>(parsed({"html", "a.hlp"}));
  EXPECT_EQ(plain.file, "a.hlp");
  EXPECT_EQ(plain.output, "");
  EXPECT_FALSE(plain.force);
  const auto full = std::get<html_options>(
      parsed({"html", "-f", "--output=b.html", "--debug-path", "x", "--debug-path", "y", "a.hlp"}));
  EXPECT_EQ(full.output, "b.html");
  EXPECT_TRUE(full.force);
  EXPECT_EQ(full.debug_paths, (std::vector<std::string>{"x", "y"}));
  EXPECT_SAYS(refusal({"html"}), "which profile?");
  EXPECT_SAYS(refusal({"html", "--ouput", "b", "a"}), "did you mean --output?");
}

TEST(commands, unknown_ones_get_a_suggestion) {
  EXPECT_SAYS(refusal({"rport"}), "did you mean report?");
  EXPECT_SAYS(refusal({"rnu", "ls"}), "did you mean run?");
  EXPECT_SAYS(refusal({"--verison"}), "did you mean --version?");
  EXPECT_SAYS(refusal({"xyzzy"}), "heapledger --help");
  for (const char* later :
       {"top", "diff", "export", "leaks", "attach", "detach", "start", "stop", "snapshot", "mark", "ps"}) {
    EXPECT_SAYS(refusal({later}), "not in this version");
  }
}

TEST(commands, help_and_version_are_answers) {
  for (const words& given : {words{"--help"},
                             {"-h"},
                             {"help"},
                             {"--version"},
                             {"run", "--help"},
                             {"report", "-h"},
                             {"doctor", "--help"},
                             {"help", "run"}}) {
    const invocation result = parsed(given);
    const auto* text = std::get_if<spoken>(&result);
    ASSERT_NE(text, nullptr);
    EXPECT_EQ(text->exit_status, 0);
    EXPECT_FALSE(text->text.empty());
  }
  const invocation alone = parsed({});
  EXPECT_EQ(std::get<spoken>(alone).exit_status, exit_usage);
  for (const char* command : {"run", "report", "doctor"}) EXPECT_SAYS(std::get<spoken>(alone).text, command);
}

TEST(suggest, measures_distance) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("report", "report"), 0U);
  EXPECT_EQ(edit_distance("rpeort", "report"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
  const words known = {"--output", "--only"};
  EXPECT_EQ(nearest("--outptu", known), "--output");
  EXPECT_EQ(nearest("--outp", known), "--output");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), known), "");
  EXPECT_EQ(nearest("--zebra", known), "");
}

}  // namespace
}  // namespace heapledger::cli

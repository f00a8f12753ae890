#include "tool/cli/options.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <sstream>
#include <string>

#include "tool/cli/help.hpp"
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
  EXPECT_FALSE(options.lifetimes);
  EXPECT_TRUE(run_of({"run", "--lifetimes", "ls"}).lifetimes);
}

TEST(run_options, the_environment_stands_in_for_what_is_not_given) {
  const variables environment = {
      {"HEAPLEDGER_OUTPUT", "e.hlp"}, {"HEAPLEDGER_FORCE", "1"},     {"HEAPLEDGER_STACKS", "off"},
      {"HEAPLEDGER_DEPTH", "9"},      {"HEAPLEDGER_INTERVAL", "20"}, {"HEAPLEDGER_NO_FOLLOW", "yes"},
      {"HEAPLEDGER_ONLY", "a*:b"},    {"HEAPLEDGER_QUIET", "true"},  {"HEAPLEDGER_VERBOSE", "2"},
      {"HEAPLEDGER_LEAKS", "0"},      {"HEAPLEDGER_LIFETIMES", "1"}};
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
  EXPECT_TRUE(options.lifetimes);

  const auto given = run_of({"run", "--depth", "3", "--only", "c", "ls"}, environment);
  EXPECT_EQ(given.depth, 3U);
  EXPECT_EQ(given.only, words{"c"});
  EXPECT_EQ(run_of({"run", "ls"}, {{"HEAPLEDGER_DEPTH", ""}}).depth, 0U);
  EXPECT_TRUE(run_of({"run", "ls"}, {{"HEAPLEDGER_NO_FOLLOW", "0"}}).follow);
}

TEST(run_options, wrong_values_are_refused_with_the_good_ones) {
  EXPECT_SAYS(refusal({"run", "--stacks", "foo", "ls"}), "--stacks: 'foo' is none of dwarf, jit, fp, off");
  EXPECT_SAYS(refusal({"run", "ls"}, {{"HEAPLEDGER_STACKS", "foo"}}), "HEAPLEDGER_STACKS: 'foo'");
  EXPECT_SAYS(refusal({"run", "ls"}, {{"HEAPLEDGER_FORCE", "maybe"}}), "HEAPLEDGER_FORCE: 'maybe'");
  for (const char* number : {"-1", "x", "", "1x", " 1", "4294967296", "1.5"}) {
    EXPECT_SAYS(refusal({"run", "--depth", number, "ls"}), "--depth");
  }
  EXPECT_SAYS(refusal({"run", "--interval", "3600001", "ls"}), "3600000");
  EXPECT_SAYS(refusal({"run", "--output=", "ls"}), "--output needs");
  EXPECT_SAYS(refusal({"run", "--force=3", "ls"}), "--force takes no value");
  EXPECT_SAYS(refusal({"run", "-o"}), "--output needs a value");
  EXPECT_SAYS(refusal({"run", "-o", "-", "ls"}), "--output: a profile goes to a file");
  EXPECT_SAYS(refusal({"run", "-o", "%x.hlp", "ls"}),
              "--output: '%x' in '%x.hlp' stands for nothing; there are %p pid");
  EXPECT_SAYS(refusal({"run", "ls"}, {{"HEAPLEDGER_OUTPUT", "100%"}}), "HEAPLEDGER_OUTPUT: '%' in '100%'");
  EXPECT_SAYS(refusal({"run", "--stacks", "off", "--depth", "3", "ls"}), "--depth says nothing with --stacks off");
  EXPECT_EQ(run_of({"run", "--stacks", "off", "ls"}, {{"HEAPLEDGER_DEPTH", "9"}}).stacks, "off");
}

TEST(run_options, wrong_usage_says_what_to_type) {
  EXPECT_SAYS(refusal({"run"}), "which program?");
  EXPECT_SAYS(refusal({"run", "-f", "--"}), "which program?");
  EXPECT_SAYS(refusal({"run", "--forse", "ls"}), "did you mean --force?");
  EXPECT_SAYS(refusal({"run", "--xyzzy", "ls"}), "heapledger run --help");
  EXPECT_SAYS(refusal({"run", "-z", "ls"}), "unknown option -z");
}

TEST(run_options, of_the_leak_watch_are_taken) {
  const auto result = parsed({"run",
                              "--leaks",
                              "--leaks-suspicious",
                              "0.5",
                              "--leaks-access=2",
                              "--leaks-rest",
                              "0.25",
                              "--leaks-samples",
                              "7",
                              "--leaks-per-stack",
                              "9",
                              "--leaks-in-all",
                              "11",
                              "--leaks-after",
                              "3",
                              "--leaks-suppressions",
                              "a",
                              "--leaks-suppressions",
                              "b",
                              "--leaks-error-exitcode",
                              "42",
                              "--leaks-stop",
                              "no",
                              "--",
                              "ls",
                              "--leaks"});
  const auto& options = std::get<run_options>(result);
  EXPECT_TRUE(options.leaks);
  EXPECT_EQ(options.leak_watch.hunt.suspicious_s, 0.5);
  EXPECT_EQ(options.leak_watch.hunt.access_s, 2);
  EXPECT_EQ(options.leak_watch.hunt.rest_s, 0.25);
  EXPECT_EQ(options.leak_watch.hunt.samples, 7U);
  EXPECT_EQ(options.leak_watch.hunt.per_stack, 9U);
  EXPECT_EQ(options.leak_watch.hunt.in_all, 11U);
  EXPECT_EQ(options.leak_watch.after_s, 3);
  EXPECT_EQ(options.leak_watch.suppressions, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(options.leak_watch.error_exitcode, 42);
  EXPECT_FALSE(options.leak_watch.may_stop);
  EXPECT_EQ(options.command, (std::vector<std::string>{"ls", "--leaks"}));

  const auto by_environment = parsed({"run", "ls"}, {{"HEAPLEDGER_LEAKS", "1"}, {"HEAPLEDGER_LEAKS_ACCESS", "4"}});
  EXPECT_TRUE(std::get<run_options>(by_environment).leaks);
  EXPECT_EQ(std::get<run_options>(by_environment).leak_watch.hunt.access_s, 4);
  EXPECT_SAYS(refusal({"run", "--leaks-access", "soon", "ls"}), "'soon' is not a number of seconds");
  EXPECT_SAYS(refusal({"run", "--leaks-access", "nan", "ls"}), "'nan' is not a number of seconds");
  EXPECT_SAYS(refusal({"run", "--leaks-per-stack", "0", "ls"}), "not a whole number from 1");
}

TEST(leaks_options, are_taken) {
  const auto result = parsed({"leaks", "--json", "--top", "3", "--duration", "5", "--report", "0", "--suspicious", "1",
                              "--debug-path", "/usr", "4711"});
  const auto& options = std::get<leaks_options>(result);
  EXPECT_EQ(options.target, "4711");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.top, 3U);
  EXPECT_EQ(options.duration_s, 5);
  EXPECT_EQ(options.watch.hunt.report_s, 0);
  EXPECT_EQ(options.watch.hunt.suspicious_s, 1);
  EXPECT_EQ(options.debug.folders, (std::vector<std::string>{"/usr"}));
  EXPECT_NE(options.of_a_process, "");
  EXPECT_EQ(std::get<leaks_options>(parsed({"leaks", "--suppressions", "s", "--error-exitcode", "1", "--json", "a"}))
                .of_a_process,
            "");
  EXPECT_SAYS(refusal({"leaks", "--json", "--report", "5", "1"}), "--report says nothing with --json");
  EXPECT_SAYS(refusal({"leaks"}), "Type: heapledger leaks PROFILE");
  EXPECT_SAYS(refusal({"leaks", "--acces", "1", "a"}), "did you mean --access?");
}

TEST(report_options, are_taken) {
  const auto result = parsed({"report", "--json", "a.hlp", "--by", "peak", "--top=5", "--depth", "3", "--debug-path",
                              "/usr", "--debug-path", "/tmp", "--full-recursion"});
  const auto& options = std::get<report_options>(result);
  EXPECT_EQ(options.file, "a.hlp");
  EXPECT_TRUE(options.json);
  EXPECT_EQ(options.by, "peak");
  EXPECT_EQ(options.top, 5U);
  EXPECT_EQ(options.depth, 3U);
  EXPECT_TRUE(options.full_recursion);
  EXPECT_EQ(options.debug.folders, (words{"/usr", "/tmp"}));
  EXPECT_EQ(std::get<report_options>(parsed({"report", "--", "--odd.hlp"})).file, "--odd.hlp");
  EXPECT_EQ(std::get<report_options>(parsed({"report", "[a].hlp"})).file, "[a].hlp");
  EXPECT_EQ(std::get<report_options>(parsed({"report", "[a]"})).file, "[a]");
  EXPECT_EQ(std::get<report_options>(parsed({"report"})).file, "");  // the command says which there are
  EXPECT_EQ(std::get<report_options>(parsed({"report", "a", "--top", "3", "[b]", "c"})).others,
            (std::vector<std::string>{"[b]", "c"}));
}

TEST(report_options, choose_stacks) {
  const auto options = std::get<report_options>(
      parsed({"report", "--focus", "a", "--focus=b", "--ignore", "c", "--suppressions", "f", "x.hlp"}));
  EXPECT_EQ(options.focus, (words{"a", "b"}));
  EXPECT_EQ(options.ignore, words{"c"});
  EXPECT_EQ(options.suppressions, words{"f"});
  EXPECT_EQ(options.file, "x.hlp");
}

TEST(report_options, wrong_usage_says_what_to_type) {
  EXPECT_SAYS(refusal({"report", "--focus", "*", "x"}), "--focus needs the name");
  EXPECT_SAYS(refusal({"report", "--ignore", "", "x"}), "--ignore needs the name");
  EXPECT_SAYS(refusal({"report", "--since", "a", "--by", "peak", "x"}), "--by peak says nothing with --since");
  EXPECT_SAYS(refusal({"report", "--since", "", "x"}), "--since needs the name of a snapshot");
  EXPECT_SAYS(refusal({"report", "--since", "a", "--until", "", "x"}), "--until needs the name of a snapshot");
  EXPECT_SAYS(refusal({"run", "--only", "", "ls"}), "--only needs the name of a program");
  EXPECT_SAYS(refusal({"run", "--only", "a:b", "ls"}), "give --only once for each program");
  EXPECT_SAYS(refusal({"html", "a", "b"}), "a page is of one profile");
  EXPECT_SAYS(refusal({"report", "--json", "a", "b"}), "--json is for one profile; of 2 there is a table of processes");
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
      parsed({"html", "-f", "--output=b.html", "--debug-path", "/usr", "--debug-path", "/tmp", "a.hlp"}));
  EXPECT_EQ(full.output, "b.html");
  EXPECT_TRUE(full.force);
  EXPECT_EQ(full.debug.folders, (std::vector<std::string>{"/usr", "/tmp"}));
  EXPECT_SAYS(refusal({"html"}), "which profile?");
  EXPECT_SAYS(refusal({"html", "--diff", "a.hlp"}), "which two? Type: heapledger html --diff OLD NEW");
  EXPECT_SAYS(refusal({"html", "--ouput", "b", "a"}), "did you mean --output?");
}

TEST(commands, unknown_ones_get_a_suggestion) {
  EXPECT_SAYS(refusal({"rport"}), "did you mean report?");
  EXPECT_SAYS(refusal({"rnu", "ls"}), "did you mean run?");
  EXPECT_SAYS(refusal({"--verison"}), "did you mean --version?");
  EXPECT_SAYS(refusal({"xyzzy"}), "heapledger --help");
  EXPECT_SAYS(refusal({"./my prog", "x"}), "to profile a program: heapledger run -- './my prog'");
  EXPECT_SAYS(refusal({"a.hlp"}), "to read a profile: heapledger report a.hlp");
  EXPECT_SAYS(refusal({"two\nlines\x1b[1m"}), "two\\x0alines\\x1b[1m");
  EXPECT_SAYS(refusal({"report", "--two\nlines"}), "--two\\x0alines");
}

TEST(commands, words_of_other_profilers_get_ours) {
  EXPECT_SAYS(refusal({"record", "ls"}), "unknown command 'record'; type: heapledger run -- PROGRAM");
  EXPECT_SAYS(refusal({"flamegraph", "a.hlp"}), "type: heapledger html PROFILE");
  EXPECT_SAYS(refusal({"--analyze", "a.hlp"}), "unknown option '--analyze'; type: heapledger html PROFILE");
  EXPECT_SAYS(refusal({"run", "-p", "1"}), "heapledger run: unknown option -p; type: heapledger attach PID");
  EXPECT_SAYS(refusal({"run", "--leak-check=full", "ls"}), "type: heapledger run --leaks -- PROGRAM");
  EXPECT_SAYS(refusal({"report", "-n", "3", "a.hlp"}), "type: heapledger report --top N PROFILE");
  EXPECT_SAYS(refusal({"--leak-check=full", "ls"}), "type: heapledger run --leaks -- PROGRAM");
  EXPECT_SAYS(refusal({"--tool=massif", "ls"}), "type: heapledger run -- PROGRAM");
  EXPECT_SAYS(refusal({"jeprof", "a.hlp"}), "type: heapledger report PROFILE");
  EXPECT_SAYS(refusal({"report", "-o", "a.txt", "a.hlp"}), "type: heapledger report PROFILE >FILE");
  EXPECT_SAYS(refusal({"export", "--pprof", "a.hlp"}), "type: heapledger export --format pprof PROFILE");
  EXPECT_SAYS(refusal({"export", "--format", "json", "a.hlp"}), "json is no format; type: heapledger report --json");
  EXPECT_SAYS(refusal({"-o", "a.hlp", "ls"}), "options stand behind a command: heapledger run [options] -- PROGRAM");
  EXPECT_SAYS(refusal({"run", "--interval", "1s", "ls"}), "'1s' is not a whole number of milliseconds from 0");
  EXPECT_SAYS(refusal({"report", "-f", "a.hlp"}), "type: heapledger report PROFILE");
  EXPECT_SAYS(refusal({"report", "--print-leaks=1", "a.hlp"}), "type: heapledger report --by live PROFILE");
}

TEST(commands, several_profiles_go_to_report) {
  EXPECT_SAYS(refusal({"html", "a.hlp", "b.hlp"}), "a page is of one profile; of what changed: heapledger html --diff");
}

TEST(commands, a_format_without_its_option_is_known_for_one) {
  const char* const answer = "'pprof' is a format; type: heapledger export --format pprof PROFILE";
  EXPECT_SAYS(refusal({"export", "pprof", "a.hlp"}), answer);
  EXPECT_SAYS(refusal({"export", "-f", "pprof", "a.hlp"}), answer);
  EXPECT_EQ(std::get<export_options>(parsed({"export", "--format=csv", "pprof"})).file, "pprof");
}

TEST(attach_options, are_taken) {
  const auto given = parsed({"attach", "-o", "x.hlp", "--depth", "7", "--leaks", "4711", "-q"});
  const auto& options = std::get<attach_options>(given);
  EXPECT_EQ(options.pid, "4711");
  EXPECT_EQ(options.how.output, "x.hlp");
  EXPECT_EQ(options.how.depth, 7U);
  EXPECT_TRUE(options.how.leaks);
  EXPECT_TRUE(options.how.quiet);
  EXPECT_SAYS(refusal({"attach"}), "heapledger attach PID");
  EXPECT_SAYS(refusal({"attach", "sleep"}), "pgrep sleep");
  EXPECT_SAYS(refusal({"attach", "--only", "x", "4711"}), "--only");
  EXPECT_SAYS(refusal({"attach", "1", "2"}), "one argument too many");
}

TEST(detach_options, are_taken) {
  const auto given = parsed({"detach", "-f", "-o", "x.hlp", "4711"});
  const auto& options = std::get<detach_options>(given);
  EXPECT_EQ(options.pid, "4711");
  EXPECT_EQ(options.output, "x.hlp");
  EXPECT_TRUE(options.force);
  EXPECT_SAYS(refusal({"detach"}), "heapledger detach PID");
}

TEST(top_options, are_taken) {
  const auto given = parsed({"top", "--interval", "50", "--count", "3", "--by", "growth", "--per", "thread", "4711"});
  const auto& options = std::get<top_options>(given);
  EXPECT_EQ(options.what, "4711");
  EXPECT_EQ(options.interval_ms, 50U);
  EXPECT_EQ(options.count, 3U);
  EXPECT_EQ(options.by, "growth");
  EXPECT_EQ(options.per, "thread");
  EXPECT_TRUE(std::get<top_options>(parsed({"top"})).what.empty());
  EXPECT_SAYS(refusal({"top", "--by", "size"}), "live, growth, churn, peak");
  EXPECT_SAYS(refusal({"top", "--per", "thread", "--by", "peak"}), "threads have no peak");
  EXPECT_SAYS(refusal({"top", "--interval", "1"}), "--interval");
  EXPECT_SAYS(refusal({"top", "--json", "--text"}), "one of the two");
}

TEST(mark_options, are_taken) {
  const auto mark = std::get<mark_options>(parsed({"mark", "4711", "two words"}));
  EXPECT_EQ(mark.pid, "4711");
  EXPECT_EQ(mark.name, "two words");
  EXPECT_FALSE(mark.with_books);
  const auto snapshot = std::get<mark_options>(parsed({"snapshot", "4711"}));
  EXPECT_TRUE(snapshot.name.empty());
  EXPECT_TRUE(snapshot.with_books);
  EXPECT_SAYS(refusal({"mark", "4711"}), "heapledger mark PID NAME");
  const auto start = std::get<watch_switch_options>(parsed({"start", "4711"}));
  EXPECT_EQ(start.pid, "4711");
  EXPECT_TRUE(start.on);
  EXPECT_FALSE(std::get<watch_switch_options>(parsed({"stop", "-q", "4711"})).on);
  EXPECT_SAYS(refusal({"stop"}), "heapledger stop PID");
  EXPECT_SAYS(refusal({"snapshot"}), "heapledger snapshot PID");
  EXPECT_EQ(run_of({"run", "--snapshot-signal", "USR1", "ls"}).snapshot_signal, "USR1");
  EXPECT_EQ(run_of({"run", "ls"}, {{"HEAPLEDGER_SNAPSHOT_SIGNAL", "USR2"}}).snapshot_signal, "USR2");
  EXPECT_SAYS(refusal({"run", "--snapshot-signal", "KILL", "ls"}), "USR1");
  EXPECT_EQ(run_of({"run", "ls"}).snapshot_growth_percent, 0u);
  EXPECT_EQ(run_of({"run", "--snapshot-growth", "25%", "ls"}).snapshot_growth_percent, 25u);
  EXPECT_EQ(run_of({"run", "ls"}, {{"HEAPLEDGER_SNAPSHOT_GROWTH", "50"}}).snapshot_growth_percent, 50u);
  EXPECT_SAYS(refusal({"run", "--snapshot-growth", "9", "ls"}), "--snapshot-growth");
  EXPECT_SAYS(refusal({"run", "--snapshot-growth", "%", "ls"}), "--snapshot-growth");
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
  const auto help = std::get<spoken>(parsed({"run", "--help"})).text;
  EXPECT_EQ(std::get<spoken>(parsed({"help", "run"})).text, help);
  EXPECT_EQ(std::get<spoken>(parsed({"--help", "run"})).text, help);
  const invocation alone = parsed({});
  EXPECT_EQ(std::get<spoken>(alone).exit_status, exit_usage);
  for (const char* command : {"run", "report", "doctor"}) EXPECT_SAYS(std::get<spoken>(alone).text, command);
}

TEST(commands, help_fits_the_width) {
  ::unsetenv("COLUMNS");
  for (const char* columns : {"", "40", "50", "80", "400"}) {
    if (*columns != 0) ::setenv("COLUMNS", columns, 1);
    const std::size_t width = *columns == 0 ? 80 : static_cast<std::size_t>(std::stoi(columns));
    std::vector<words> commands_of_all = {{"--help"}};
    for (const auto& command : commands()) commands_of_all.push_back({command.name, "--help"});
    for (const words& given : commands_of_all) {
      std::istringstream lines(std::get<spoken>(parsed(given)).text);
      for (std::string line; std::getline(lines, line);) {
        EXPECT_TRUE(line.size() <= width || line.starts_with("Usage: ")) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
  ::setenv("COLUMNS", "40", 1);
  EXPECT_SAYS(std::get<spoken>(parsed({"--help"})).text,
              "\n  mark PID NAME\n      name this moment of a running\n      program\n");
  ::unsetenv("COLUMNS");
  EXPECT_SAYS(std::get<spoken>(parsed({"run", "--help"})).text, "\n  -o, --output FILE           the profile's name");
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
  const words prefixed = {"--interval", "--leaks-suspicious"};
  EXPECT_EQ(nearest("--suspicious", prefixed), "--leaks-suspicious");
}

TEST(export_options, the_format_is_asked_for_and_checked) {
  const auto result = parsed({"export", "--format", "folded", "--by", "count", "-o", "x", "-f", "a.hlp"});
  const auto* options = std::get_if<export_options>(&result);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->format, "folded");
  EXPECT_EQ(options->by, "count");
  EXPECT_EQ(options->output, "x");
  EXPECT_TRUE(options->force);
  EXPECT_EQ(options->file, "a.hlp");
  EXPECT_SAYS(refusal({"export", "a.hlp"}), "add --format pprof, heaptrack");
  EXPECT_SAYS(refusal({"export", "--format", "xlsx", "a.hlp"}), "'xlsx' is none of pprof");
  EXPECT_SAYS(refusal({"export", "--format", "massif", "--by", "live", "a.hlp"}), "--by says nothing for massif");
  EXPECT_SAYS(refusal({"export", "--format", "folded", "--by", "size", "a.hlp"}), "'size' is none of");
  EXPECT_SAYS(refusal({"export", "--format", "folded"}), "which profile?");
}

TEST(usage, words_that_are_repeated_do_not_drive_a_terminal) {
  EXPECT_SAYS(refusal({"\x1b[31m"}), "\\x1b[31m");
  EXPECT_SAYS(refusal({"report", "--x\x1b[31m\n"}), "\\x1b[31m\\x0a");
  EXPECT_SAYS(refusal({"report", "--top", "\x1b[31m", "a"}), "\\x1b[31m");
}

TEST(diff_options, two_profiles_and_limits_that_can_be_meant) {
  const auto result =
      parsed({"diff", "--fail-above", "peak=5%", "--fail-above=live=0", "a.hlp", "b.hlp", "--top", "3"});
  const auto* options = std::get_if<diff_options>(&result);
  ASSERT_NE(options, nullptr);
  EXPECT_EQ(options->old_file, "a.hlp");
  EXPECT_EQ(options->new_file, "b.hlp");
  EXPECT_EQ(options->fail_above, (words{"peak=5%", "live=0"}));
  EXPECT_EQ(options->top, 3U);
  EXPECT_SAYS(refusal({"diff", "a.hlp"}), "type: heapledger diff OLD.hlp NEW.hlp");
  EXPECT_SAYS(refusal({"diff", "--fail-above", "much", "a", "b"}), "'much' is no limit; write [MEASURE=]AMOUNT");
  EXPECT_SAYS(refusal({"diff", "--fail-above", "rss=5%", "a", "b"}),
              "a measure is peak, live, allocated, allocations or temporary");
  EXPECT_SAYS(refusal({"diff", "--fail-above", "count=5k", "a", "b"}), "which has no unit");
  EXPECT_SAYS(refusal({"diff", "--by", "temporary", "--fail-above", "5MB", "a", "b"}), "which has no unit");
}

}  // namespace
}  // namespace heapledger::cli

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "tool/analyse/measure.hpp"
#include "tool/analyse/snapshots.hpp"
#include "tool/cli/answer.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/cli/profiles_in.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/values.hpp"
#include "tool/leaks/stack_choice.hpp"
#include "tool/leaks/suppressions.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/json.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/process_table.hpp"
#include "tool/report/text.hpp"
#include "tool/report/units.hpp"

namespace heapledger::cli {
namespace {

// Every stack with every frame can be gigabytes, which no reader of JSON takes: said while it is being written.
class json_out {
 public:
  explicit json_out(std::size_t stacks) : stacks_(stacks) {}

  void write(std::string_view text) {
    print_answer(text);
    const bool was_much = bytes_ >= much_bytes;
    bytes_ += text.size();
    if (was_much || bytes_ < much_bytes) return;
    fmt::print(
        stderr,
        "heapledger: {} stacks with all their frames are more than {} of JSON; --top 1000 writes the first 1,000, "
        "--depth 10 ten frames of each\n",
        report::count_text(stacks_), report::bytes_text(much_bytes));
  }

 private:
  static constexpr std::uint64_t much_bytes = std::uint64_t{256} << 20;
  std::size_t stacks_;
  std::uint64_t bytes_ = 0;
};

profile between(profile whole, const report_options& options) {
  if (options.since.empty()) return whole;
  if (const auto split = split_snapshot(options.file))
    throw usage_error(fmt::format("--since needs the whole profile; type: heapledger report --since {} --until {} {}",
                                  shell_word(options.since), shell_word(split->name), shell_file(split->file)));
  const auto since = snapshot_of(whole, options.file, options.since);
  if (options.until.empty()) return analyse::profile_between(whole, since, {});
  const auto until = snapshot_of(whole, options.file, options.until);
  if (until < since)
    throw input_error(fmt::format("{}: snapshot '{}' is older than '{}'", options.file, options.until, options.since));
  return analyse::profile_between(whole, since, until);
}

std::string window_words(const report_options& options) {
  std::string words;
  if (!options.since.empty()) words += "--since " + shell_word(options.since) + " ";
  if (!options.until.empty()) words += "--until " + shell_word(options.until) + " ";
  return words;
}

struct choice_of_stacks {
  std::vector<bool> left_out;  // empty: none
  std::string by;
  std::vector<bool> known;
};

std::vector<bool> stacks_of(const profile& p, const std::vector<std::string>& patterns) {
  auto found = leaks::stacks_with(p, patterns);
  if (!p.stacks.empty() && std::find(found.begin(), found.end(), true) == found.end())
    say(fmt::format("no stack has {} in a function, file or module", fmt::join(patterns, " or ")));
  return found;
}

choice_of_stacks choose(const profile& p, const report_options& options) {
  choice_of_stacks choice;
  const auto leave_out = [&](const std::vector<std::string>& patterns, bool those_that_match, const char* option) {
    if (patterns.empty()) return;
    const auto found = stacks_of(p, patterns);
    choice.left_out.resize(p.stacks.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      choice.left_out[i] = choice.left_out[i] || found[i] == those_that_match;
    choice.by +=
        fmt::format("{}{} {}", choice.by.empty() ? "" : " ", option, fmt::join(patterns, fmt::format(" {} ", option)));
  };
  leave_out(options.focus, false, "--focus");
  leave_out(options.ignore, true, "--ignore");
  std::vector<std::string> patterns;
  for (const auto& file : options.suppressions) {
    const auto read = leaks::suppressions::read(file);
    patterns.insert(patterns.end(), read.patterns().begin(), read.patterns().end());
  }
  if (options.suppressions.empty()) return choice;
  choice.known = leaks::stacks_with(p, patterns);
  for (std::size_t i = 0; i < choice.left_out.size(); ++i) choice.known[i] = choice.known[i] && !choice.left_out[i];
  return choice;
}

// A stack of JSON holds every measure, so what is known is left out whole.
std::vector<bool> either(std::vector<bool> left, const std::vector<bool>& right) {
  if (left.empty()) return right;
  for (std::size_t i = 0; i < right.size(); ++i) left[i] = left[i] || right[i];
  return left;
}

int ask_which() {
  const auto names = profiles_in(".");
  const std::string file = names.empty() ? "FILE.hlp" : shell_file(names[0]);
  fmt::print(stderr, "heapledger report: which profile? {}; type: heapledger report {}\n",
             names.empty() ? "There is none in this folder" : "The newest here is " + printable(names[0]), file);
  return exit_usage;
}

// One that cannot be read takes nothing from the others.
int report_processes(const report_options& options) {
  std::vector<report::process_row> rows;
  int status = 0;
  const auto add = [&](const std::string& file) {
    try {
      const profile p = load_profile(file, {});
      rows.push_back({file, p.process, p.totals(), most_mapped_bytes(p)});
    } catch (const input_error& error) {
      say(error.what());
      status = exit_failure;
    }
  };
  add(options.file);
  std::for_each(options.others.begin(), options.others.end(), add);
  if (rows.empty()) return status;
  print_answer(report::process_table(
      std::move(rows), {analyse::parse_measure(options.by), options.top, report::style_for(STDOUT_FILENO)}));
  finish_answer();
  return status;
}

}  // namespace

int report(const report_options& options) {
  if (options.file.empty()) return ask_which();
  if (!options.others.empty()) return report_processes(options);
  const profile loaded = between(load_profile(options.file, options.debug), options);
  const auto by = analyse::parse_measure(options.by);
  const auto choice = choose(loaded, options);
  if (options.json) {
    json_out out(options.top == 0 ? loaded.stacks.size() : std::min<std::size_t>(options.top, loaded.stacks.size()));
    report::write_json(
        loaded,
        {by.value_or(analyse::measure::live), options.top, options.depth, either(choice.left_out, choice.known)},
        [&](std::string_view text) { out.write(text); });
  } else {
    print_answer(report::text_report(loaded, {by, options.top, options.depth, options.full_recursion, choice.left_out,
                                              report::terminal_text(choice.by), choice.known,
                                              report::style_for(STDOUT_FILENO), options.file, window_words(options)}));
  }
  finish_answer();
  return 0;
}

}  // namespace heapledger::cli

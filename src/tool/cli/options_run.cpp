// The syntax of `run`.
#include <fmt/format.h>

#include <sstream>
#include <vector>

#include "tool/cli/command_line.hpp"
#include "tool/cli/leak_options.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/options_of_run.hpp"
#include "tool/cli/twin_options.hpp"
#include "tool/cli/values.hpp"
#include "tool/collect/output.hpp"

namespace heapledger::cli {
namespace {

constexpr std::uint32_t longest_interval_ms = 3'600'000;

bool given(std::string_view source, const std::string& text) {
  return source.starts_with("--") || truth_value(source, text);
}

void check_output(std::string_view source, const std::string& text) {
  if (text.empty()) throw usage_error(fmt::format("{} needs a file name", source));
  if (const auto unknown = collect::unknown_placeholder(text))
    throw usage_error(
        fmt::format("{}: '{}' in '{}' stands for nothing; there are %p pid, %e program, %h host, %t time and %% for a "
                    "percent sign",
                    source, *unknown, text));
  if (text == "-")
    throw usage_error(fmt::format(
        "{}: a profile goes to a file, and standard output is the program's; ./- names a file of that name", source));
}

// One from the command line, all of them from the environment.
void add_globs(std::string_view source, const std::string& text, std::vector<std::string>& globs) {
  if (source.starts_with("--")) {
    if (text.empty()) throw usage_error("--only needs the name of a program; * and ? stand for parts of it");
    if (text.find(':') != std::string::npos)
      throw usage_error(fmt::format("--only {}: a colon is in no name here; give --only once for each program", text));
    globs.push_back(text);
    return;
  }
  std::istringstream names(text);
  for (std::string glob; std::getline(names, glob, ':');)  // as in PATH
    if (!glob.empty()) globs.push_back(glob);
}

}  // namespace

void add_run_options(twin_options& twins, run_options& options, bool of_a_new_program) {
  twins.add("-o,--output", "FILE", "the profile's name; %p pid, %e program, %h host, %t time (heapledger.%e.%p.hlp)",
            [&](auto source, const std::string& text) {
              check_output(source, text);
              options.output = text;
            });
  twins.add_flag("-f,--force", "overwrite an existing file",
                 [&](auto source, const std::string& text) { options.force = given(source, text); });
  twins.add("--stacks", "KIND",
            "dwarf (exact), jit (dwarf, and frame pointers where code has no unwind tables), fp (frame pointers) or "
            "off (totals only); dwarf if not given",
            [&](auto source, const std::string& text) {
              options.stacks = choice_value(source, text, {"dwarf", "jit", "fp", "off"});
            });
  twins.add("--depth", "N", "keep the innermost N frames of a stack; 0 keeps all (0)",
            [&](auto source, const std::string& text) { options.depth = number_value(source, text, 0, UINT32_MAX); });
  twins.add("--interval", "MS", "time between points of the timeline; 0 takes none (100)",
            [&](auto source, const std::string& text) {
              options.interval_ms = number_value(source, text, 0, longest_interval_ms, "milliseconds");
            });
  twins.add_flag("--no-follow", "leave forked and executed children alone",
                 [&](auto source, const std::string& text) { options.follow = !given(source, text); });
  if (of_a_new_program)
    twins.add("--only", "GLOB", "profile only processes whose program's name matches; may be repeated",
              [&](auto source, const std::string& text) { add_globs(source, text, options.only); });
  twins.add_flag("--lifetimes", "time every block: how long blocks live, in all and by stack",
                 [&](auto source, const std::string& text) { options.lifetimes = given(source, text); });
  twins.add_flag("--leaks", "watch for leaks, and say at the end what leaks",
                 [&](auto source, const std::string& text) { options.leaks = given(source, text); });
  add_leak_options("leaks-", options.leak_watch,
                   [&](const std::string& name, const std::string& placeholder, const std::string& help, auto use) {
                     const auto taken = [&options, use](auto source, const std::string& text) {
                       use(source, text);
                       options.leak_options_given = true;
                     };
                     twins.add(name, placeholder, help, taken, "The leak watch");
                   });
  twins.add("--snapshot-signal", "SIGNAL", "the program takes a snapshot whenever this comes: USR1 or USR2 (none)",
            [&](auto source, const std::string& text) {
              options.snapshot_signal = choice_value(source, text, {"USR1", "USR2"});
            });
  twins.add("--snapshot-growth", "PERCENT",
            "a snapshot whenever so many more bytes are live than at the last one, from 1 MiB on (none)",
            [&](auto source, const std::string& text) {
              const auto digits = text.ends_with('%') ? text.substr(0, text.size() - 1) : text;
              options.snapshot_growth_percent = number_value(source, digits, 10, 10'000, "percent");
            });
  twins.add_flag("-q,--quiet", "say nothing",
                 [&](auto source, const std::string& text) { options.quiet = given(source, text); });
  twins.add_flag("-v,--verbose", "say more", [&](auto source, const std::string& text) {
    options.verbose = static_cast<int>(number_value(source, text, 0, 9));
  });
}

void refuse_depth_of_nothing(command_line& line, const run_options& options) {
  if (options.stacks == "off" && line.count("--stacks") != 0 && line.count("--depth") != 0)
    throw usage_error("--depth says nothing with --stacks off, which keeps no frames");
}

bool is_check_asked(const environment_lookup& environment) {
  const char* check = environment("HEAPLEDGER_CHECK");
  return check != nullptr && *check != 0 && *check != '0';
}

run_options parse_run(std::span<const std::string> given_words, const environment_lookup& environment) {
  run_options options;
  command_line line("run", "[options] [--] PROGRAM [ARG...]");
  line.add_remark(
      "An option that is not given is taken from the environment: HEAPLEDGER_<OPTION>, such as "
      "HEAPLEDGER_NO_FOLLOW=1.");
  twin_options twins(line, environment);
  add_run_options(twins, options, true);
  line.add_hidden_flag("--check", options.check);  // for tests: not in the help

  // Where the program begins is found here, not by CLI11, which would touch the program's own arguments.
  std::vector<std::string> ours;
  std::size_t i = 0;
  for (; i < given_words.size(); ++i) {
    const std::string& word = given_words[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word.size() < 2 || word.front() != '-') break;
    ours.push_back(word);
    if (line.takes_next_word(word) && i + 1 < given_words.size()) ours.push_back(given_words[++i]);
  }
  options.command.assign(given_words.begin() + static_cast<std::ptrdiff_t>(i), given_words.end());

  line.parse(std::move(ours));
  twins.take();
  refuse_depth_of_nothing(line, options);
  if (is_check_asked(environment)) options.check = true;
  if (options.command.empty()) throw usage_error("which program? Type: heapledger run [options] -- PROGRAM [ARG...]");
  return options;
}

}  // namespace heapledger::cli

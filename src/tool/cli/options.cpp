#include "tool/cli/options.hpp"

#include <fmt/format.h>

#include <vector>

#include "tool/cli/command_line.hpp"
#include "tool/cli/help.hpp"
#include "tool/cli/options_of.hpp"
#include "tool/cli/peers_words.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/cli/suggest.hpp"
#include "tool/cli/values.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

using words = std::vector<std::string>;

// Who leaves the command out means a profile or a program.
std::string what_to_type(const std::string& word) {
  const std::string all = "heapledger --help lists what there is";
  if (word.starts_with("-")) return all + "; options stand behind a command: heapledger run [options] -- PROGRAM";
  const auto dot = word.find(".hlp");
  return all +
         (dot == std::string::npos ? "; to profile a program: heapledger run -- "
                                   : "; to read a profile: heapledger report ") +
         shell_word(word);
}

std::string advice(const std::string& word) {
  if (const auto typed = peers_word({}, word); !typed.empty()) return fmt::format("type: {}", typed);
  words known = {"--help", "--version"};
  for (const auto& command : commands()) known.push_back(command.name);
  const std::string meant = nearest(word, known);
  return meant.empty() ? what_to_type(word) : fmt::format("did you mean {}?", meant);
}

spoken refuse_command(const std::string& word) {
  const auto answer =
      fmt::format("unknown {} '{}'; {}", word.starts_with("-") ? "option" : "command", word, advice(word));
  return {"heapledger: " + printable(answer) + "\n", exit_usage};
}

}  // namespace

invocation parse(std::span<const std::string> given_words, const environment_lookup& environment) {
  if (given_words.empty()) return spoken{overview_help(), exit_usage};
  std::string name = given_words[0];
  auto rest = given_words.subspan(1);
  const words help_option = {"--help"};
  if (name == "--version" || name == "-V") return spoken{version_text(), 0};
  if (name == "--help" || name == "-h" || name == "help") {
    if (rest.empty()) return spoken{overview_help(), 0};
    name = rest[0];
    rest = help_option;
  }
  try {
    if (name == "run") return parse_run(rest, environment);
    if (name == "attach") return parse_attach(rest, environment);
    if (name == "detach") return parse_detach(rest);
    if (name == "report") return parse_report(rest);
    if (name == "diff") return parse_diff(rest);
    if (name == "mark") return parse_mark(rest);
    if (name == "ps") return parse_ps(rest);
    if (name == "snapshot") return parse_snapshot(rest);
    if (name == "start") return parse_start(rest);
    if (name == "stop") return parse_stop(rest);
    if (name == "top") return parse_top(rest);
    if (name == "export") return parse_export(rest);
    if (name == "html") return parse_html(rest);
    if (name == "leaks") return parse_leaks(rest);
    if (name == "doctor") return parse_doctor(rest);
    return refuse_command(name);
  } catch (const help_wanted& help) {
    return spoken{help.text, 0};
  } catch (const usage_error& error) {
    return spoken{fmt::format("heapledger {}: {}\n", name, printable(error.what())), exit_usage};
  }
}

}  // namespace heapledger::cli

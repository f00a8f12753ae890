#include "tool/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace heapledger::cli {

const std::vector<command_entry>& commands() {
  static const std::vector<command_entry> entries = {
      {"run", "[options] [--] PROGRAM [ARG...]", "profile a program, and what it forks or executes"},
      {"report", "[options] PROFILE", "show a profile; --json for programs"},
      {"export", "--format FORMAT PROFILE [-o FILE]", "the profile for pprof, heaptrack, speedscope and others"},
      {"html", "[options] PROFILE", "a profile as one page for a browser"},
      {"doctor", "[PROGRAM]", "what this machine allows, and what to do about it"},
  };
  return entries;
}

bool is_later_command(std::string_view name) {
  constexpr std::array<std::string_view, 9> later = {"top",   "diff", "leaks",    "attach", "detach",
                                                     "start", "stop", "snapshot", "mark"};
  return std::find(later.begin(), later.end(), name) != later.end() || name == "ps";
}

std::string overview_help() {
  std::string text = "heapledger shows where a program's memory goes: every allocation, exactly.\n\n";
  for (const auto& command : commands()) {
    text += fmt::format("  heapledger {:<40} {}\n", command.name + " " + command.arguments, command.purpose);
  }
  text += "\nheapledger COMMAND --help tells more. Begin with: heapledger run -- PROGRAM\n";
  return text;
}

std::string version_text() {
  return "heapledger " HEAPLEDGER_VERSION "\n";
}

}  // namespace heapledger::cli

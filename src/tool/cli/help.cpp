#include "tool/cli/help.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace heapledger::cli {

const std::vector<command_entry>& commands() {
  static const std::vector<command_entry> entries = {
      {"run", "[options] [--] PROGRAM [ARG...]", "profile a program, and what it forks or executes"},
      {"report", "[options] PROFILE", "show a profile; --json for programs"},
      {"html", "[options] PROFILE", "a profile as one page for a browser"},
      {"top", "[options] [PID | PROFILE]", "live view of a running program"},
      {"diff", "[options] OLD NEW", "what changed; exit 1 when worse than --fail-above"},
      {"leaks", "[options] PROFILE | PID", "what leaks: of a profile, or watched in a running program"},
      {"export", "--format FORMAT PROFILE [-o FILE]", "the profile for pprof, heaptrack, speedscope and others"},
      {"mark", "PID NAME", "name this moment of a running program"},
      {"snapshot", "PID [NAME]", "keep what every stack holds now, to compare"},
      {"start", "PID", "watch a program for leaks from this moment on"},
      {"stop", "PID", "end that watch; what it found is kept"},
      {"ps", "[--json]", "programs under heapledger on this machine"},
      {"doctor", "[PROGRAM]", "what this machine allows, and what to do about it"},
  };
  return entries;
}

bool is_later_command(std::string_view name) {
  constexpr std::array<std::string_view, 2> later = {"attach", "detach"};
  return std::find(later.begin(), later.end(), name) != later.end();
}

std::string overview_help() {
  std::string text = "heapledger shows where a program's memory goes: every allocation, exactly.\n\n";
  for (const auto& command : commands()) {
    text += fmt::format("  heapledger {:<40} {}\n", command.name + " " + command.arguments, command.purpose);
  }
  text +=
      "\nheapledger COMMAND --help tells more; heapledger --version, which one this is. Begin with: heapledger run -- "
      "PROGRAM\n";
  return text;
}

std::string version_text() {
  return "heapledger " HEAPLEDGER_VERSION "\n";
}

}  // namespace heapledger::cli

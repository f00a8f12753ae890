#include "tool/cli/help.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "tool/cli/help_page.hpp"
#include "tool/report/page.hpp"

namespace heapledger::cli {

const std::vector<command_entry>& commands() {
  static const std::vector<command_entry> entries = {
      {"run", "[options] [--] PROGRAM [ARG...]", "profile a program, and what it forks or executes"},
      {"attach", "[options] PID", "profile a program that is already running, from now on"},
      {"detach", "PID", "let go of a program that was attached to: it runs on, and the profile is written"},
      {"report", "[options] PROFILE | PID", "show a profile, or a running program's; --json for programs"},
      {"html", "[options] PROFILE | PID", "a profile, or a running program's, as one page for a browser"},
      {"top", "[options] [PID | PROFILE]", "live view of a running program"},
      {"diff", "[options] OLD NEW", "what changed; exit 1 when worse than --fail-above"},
      {"leaks", "[options] PROFILE | PID", "what leaks: in a profile, or in a running program, which is watched"},
      {"export", "--format F PROFILE | PID [-o FILE]", "the profile for pprof, heaptrack, speedscope and others"},
      {"mark", "PID NAME", "name this moment of a running program"},
      {"snapshot", "PID [NAME]", "keep what every stack holds now, to compare"},
      {"start", "PID", "watch a program for leaks from this moment on"},
      {"stop", "PID", "end a watch for leaks; what it found is kept"},
      {"ps", "[--json]", "programs under heapledger on this machine"},
      {"doctor", "[PROGRAM]", "what this machine allows, and what to do about it"},
  };
  return entries;
}

std::size_t help_width() {
  constexpr std::size_t narrowest = 40, widest = 120, in_a_pipe = 80;
  return std::clamp(report::width_for(STDOUT_FILENO, in_a_pipe), narrowest, widest);
}

std::string overview_help() {
  const auto width = help_width();
  std::string text =
      help_entry("", "heapledger shows where a program's memory goes: every allocation, exactly.", 0, width) + "\n";
  for (const auto& command : commands()) {
    text += help_entry(fmt::format("  {} {}", command.name, command.arguments), command.purpose, 39, width);
  }
  return text + "\nBegin with: heapledger run -- PROGRAM\n" +
         help_entry("", "heapledger COMMAND --help tells more; heapledger --version, which one this is.", 0, width);
}

std::string version_text() {
  return "heapledger " HEAPLEDGER_VERSION "\n";
}

}  // namespace heapledger::cli

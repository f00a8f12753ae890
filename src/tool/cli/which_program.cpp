#include "tool/cli/which_program.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "tool/cli/values.hpp"
#include "tool/profile/error.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::cli {
namespace {

std::string name_of(const collect::running_program& program) {
  const auto name = program.exe.substr(program.exe.rfind('/') + 1);
  return report::cut_right(report::terminal_text(name.empty() ? "?" : name), 40);
}

std::string listed(const std::vector<collect::running_program>& programs) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t i = 0; i < programs.size() && i < most; ++i)
    text += fmt::format("{}{} ({})", i == 0 ? "" : ", ", programs[i].pid, name_of(programs[i]));
  if (programs.size() > most) text += ", ...";
  if (programs.size() > 1) text += "; heapledger ps says what each holds";  // workers of a server have one name
  return text;
}

}  // namespace

bool names_process(const std::string& word) {
  const bool digits = !word.empty() && word.size() < 10 && word.find_first_not_of("0123456789") == std::string::npos;
  return digits && ::access(word.c_str(), F_OK) != 0;
}

std::string words_of_running(const std::string& name) {
  auto programs = collect::find_programs();
  std::erase_if(programs, [&](const auto& program) { return program.exe.substr(program.exe.rfind('/') + 1) != name; });
  return programs.empty() ? "" : "a running program is named by its pid: " + listed(programs);
}

void refuse_name_of_program(const std::string& word) {
  const bool looks_like_file = word.find_first_of("/@.") != std::string::npos;
  if (looks_like_file || ::access(word.c_str(), F_OK) == 0) return;
  const auto running = words_of_running(word);
  throw input_error(word, "there is no such file",
                    running.empty() ? "a running program is named by its pid: heapledger ps lists them" : running);
}

collect::running_program which_program(const std::string& pid) {
  if (!pid.empty()) {
    if (pid.find_first_not_of("0123456789") != std::string::npos)
      throw usage_error(fmt::format("PID: '{}' is no number; heapledger ps lists the programs there are", pid));
    const auto number = static_cast<pid_t>(number_value("PID", pid, 1, INT32_MAX));
    return collect::await_program(number);
  }
  const auto programs = collect::find_programs();
  if (programs.size() == 1) return programs[0];
  if (programs.empty())
    throw input_error("no program runs under heapledger here; start one: heapledger run -- PROGRAM");
  throw usage_error(fmt::format("which of {} programs? Name one by its pid: {}", programs.size(), listed(programs)));
}

}  // namespace heapledger::cli

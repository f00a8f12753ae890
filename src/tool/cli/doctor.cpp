#include <unistd.h>

#include <string>

#include "tool/cli/answer.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/doctor_checks.hpp"
#include "tool/report/page.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::cli {
namespace {

constexpr std::size_t state_width = 9;
constexpr std::size_t subject_width = 14;

const char* state_word(health state) {
  switch (state) {
    case health::good:
      return "ok";
    case health::note:
      return "note";
    case health::problem:
      break;
  }
  return "PROBLEM";
}

report::tone state_tone(health state) {
  return state == health::problem ? report::tone::alarm : report::tone::plain;
}

}  // namespace

int doctor(const doctor_options& options) {
  auto findings = examine_machine();
  if (!options.program.empty()) {
    for (auto& finding : examine_program(options.program)) findings.push_back(std::move(finding));
  }
  std::string out;
  report::page page(out, report::style_for(STDOUT_FILENO));
  bool healthy = true;
  for (const diagnosis& finding : findings) {
    healthy = healthy && finding.state != health::problem;
    page.entry(report::padded(state_word(finding.state), state_width) +
                   report::padded(report::terminal_text(finding.subject), subject_width) + "  ",
               report::terminal_text(finding.words), state_tone(finding.state));
  }
  print_answer(out);
  finish_answer();
  return healthy ? 0 : 1;
}

}  // namespace heapledger::cli

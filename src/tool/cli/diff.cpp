#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tool/cli/answer.hpp"
#include "tool/cli/commands.hpp"
#include "tool/cli/load.hpp"
#include "tool/diff/compare.hpp"
#include "tool/report/diff_json.hpp"
#include "tool/report/diff_text.hpp"

namespace heapledger::cli {
namespace {

std::vector<report::gate_result> judge(const diff::comparison& compared, const diff_options& options,
                                       analyse::measure by) {
  std::vector<report::gate_result> results;
  for (const auto& text : options.fail_above) {
    report::gate_result result;
    result.gate = *diff::parse_gate(text);
    result.by = result.gate.by.value_or(by);
    result.before = diff::value_before(compared, result.by);
    result.after = diff::value_after(compared, result.by);
    result.worse = diff::is_worse(result.gate, result.before, result.after);
    results.push_back(std::move(result));
  }
  return results;
}

// Of two moments of one process it is what lives that says what happened between them: its peak may be older than both.
analyse::measure usual_measure(const process_info& before, const process_info& after) {
  const bool is_one = before.pid == after.pid && before.start_realtime_ns == after.start_realtime_ns;
  return is_one ? analyse::measure::live : analyse::measure::peak;
}

}  // namespace

int diff_profiles(const diff_options& options) {
  const profile before = load_profile(options.old_file, options.debug);
  const profile after = load_profile(options.new_file, options.debug);
  const diff::comparison compared(before, after);
  const auto asked = analyse::parse_measure(options.by);
  const auto by = asked.value_or(usual_measure(before.process, after.process));
  const auto gates = judge(compared, options, asked.value_or(analyse::measure::peak));
  if (options.json) {
    report::write_diff_json(compared, gates, {by, options.top}, print_answer);
  } else {
    print_answer(report::diff_text(
        compared, gates, {by, options.top, report::style_for(STDOUT_FILENO), options.old_file, options.new_file}));
  }
  finish_answer();
  const bool worse = std::any_of(gates.begin(), gates.end(), [](const auto& result) { return result.worse; });
  for (const auto& result : gates) {
    if (result.worse) fmt::print(stderr, "heapledger: worse: {}\n", report::gate_text(result));
  }
  return worse ? exit_worse : 0;
}

}  // namespace heapledger::cli

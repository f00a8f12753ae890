// The command line's syntax: from words to plain options, or to what is to be said instead. CLI11 is
// known behind this header only. Nothing is started, opened or printed here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <variant>

#include "tool/cli/commands.hpp"

namespace heapledger::cli {

struct spoken {  // help, version, or one line that says what is wrong and what to type
  std::string text;
  int exit_status = 0;  // above 0: an error, for standard error
};

using invocation = std::variant<spoken, run_options, attach_options, detach_options, report_options, html_options,
                                top_options, diff_options, leaks_options, export_options, mark_options, ps_options,
                                watch_switch_options, doctor_options>;
using environment_lookup = std::function<const char*(const char* name)>;

// `words` are the arguments without the program's own name. Every option of `run` that is not given is taken from its
// environment twin HEAPLEDGER_<OPTION>, where that is set and not empty.
invocation parse(std::span<const std::string> words, const environment_lookup& environment);

}  // namespace heapledger::cli

// The syntax that `run` and `attach` have in common.
#pragma once

#include "tool/cli/command_line.hpp"
#include "tool/cli/twin_options.hpp"

namespace heapledger::cli {

void add_run_options(twin_options& twins, run_options& options, bool of_a_new_program);
void refuse_depth_of_nothing(command_line& line, const run_options& options);
bool is_check_asked(const environment_lookup& environment);

}  // namespace heapledger::cli

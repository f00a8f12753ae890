// The functions, files and lines of a profile, from where --debug-path and --debuginfod say.
#pragma once

#include <sys/types.h>

#include "tool/cli/commands.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::cli {

// Throws input_error: nothing can be fetched here. What cannot be fetched from a server is said on standard error.
// `running` is the process that the profile is of, if it still runs.
void find_symbols(profile& p, const debug_options& options, pid_t running = 0);

}  // namespace heapledger::cli

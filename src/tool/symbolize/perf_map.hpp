// Names of code that programs make themselves: from the map that many JITs leave for perf in /tmp/perf-PID.map, a line
// for each piece of code, with its start and its size in hexadecimal, and a name (Linux, tools/perf/Documentation/
// jit-interface.txt). node writes it with --perf-basic-prof, Java with DumpPerfMapAtExit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::symbols {

// For each of the addresses, which ascend, the name in the last line that covers it, as perf has it; empty: none does.
// A line that is none is passed over, and so is what comes behind the first 512 MiB.
std::vector<std::string> names_in_perf_map(std::istream& map, std::span<const std::uint64_t> addresses);

// Gives names to the places that no module holds and that have none. The map may be anybody's: it is believed if it
// belongs to us or to root (or we are root), is a file, and was written to since the process began, on this host.
void name_generated_code(profile& target);

}  // namespace heapledger::symbols

// What a running process has mapped can be read after it was replaced or removed, and where the process has a root of
// its own, under names in /proc.
#pragma once

#include <sys/types.h>

#include <vector>

#include "tool/symbolize/debug_places.hpp"

namespace heapledger::symbols {

// Nothing where there is no such process, or it cannot be looked at. Others than root can follow fewer of the names.
std::vector<mapped_file> mapped_files(pid_t pid);

}  // namespace heapledger::symbols

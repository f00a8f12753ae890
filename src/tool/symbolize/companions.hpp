// What libdw opens beside the file that it is given, by names that the file holds: it takes any, and waits for ever
// where one is a pipe. So those that are no regular file, or a bomb, are not let come to that.
#pragma once

#include <elfutils/libdw.h>

#include <optional>

#include "tool/symbolize/elf_file.hpp"

namespace heapledger::symbols {

// The other half of a skeleton unit, from a .dwo or .dwp file.
std::optional<Dwarf_Die> split_half(const elf_file& file, Dwarf_CU* skeleton, Dwarf_Die& skeleton_die);

// Holds nothing. In the place of an alternate file that is missing: libdw would look for one itself, and believe it
// whatever its build-id is.
Dwarf* no_alternate();

}  // namespace heapledger::symbols

// From an address of this process to its CFI row, without the loader's lock (_dl_find_object, glibc 2.35): of a module,
// or of code whose tables the program registered.
#pragma once

#include "probe/unwind/cfi.hpp"

namespace heapledger::probe {

enum class row_search { found, missing, malformed };

row_search find_row(std::uint64_t address, cfi::function_entry& entry, cfi::row& row);

}  // namespace heapledger::probe

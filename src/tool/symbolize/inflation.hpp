// Compressed sections of a file that would take more memory than any real one's: a few megabytes can be made to expand
// to gigabytes, and libdw expands all debug sections as soon as it opens a file.
#pragma once

#include <libelf.h>

#include <cstdint>

namespace heapledger::symbols {

bool inflates_beyond_reason(Elf* elf, std::uint64_t file_bytes);

}  // namespace heapledger::symbols

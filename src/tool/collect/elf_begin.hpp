// Files for libelf, which would rather map them. They are read instead: a linker may write the file anew meanwhile, and
// what is cut off from a mapping is SIGBUS. Only files too large for memory are mapped.
#pragma once

#include <libelf.h>

namespace heapledger {

// Null as elf_begin's; for a regular file.
Elf* begin_elf(int fd);

}  // namespace heapledger

// Programs that keep no books, and those of them that must run without us: a sanitizer's runtime refuses to start
// behind another preloaded library, a loader that is not glibc's cannot load us, and for another machine's or a 32-bit
// program glibc's says so on stderr.
//
// Reads the file that is about to be executed, and the interpreters of scripts; allocates nothing: usable between vfork
// and exec. What cannot be read is not known: `none`.
#pragma once

#include <fcntl.h>

#include "wire/segment.hpp"

namespace heapledger::probe {

struct child_file {
  int folder = AT_FDCWD;
  const char* path = nullptr;  // nullptr: there is none
  int flags = 0;               // as for execveat, where AT_EMPTY_PATH makes the open file `folder` itself
  bool resets_ids = false;     // the effective IDs become the real ones before: POSIX_SPAWN_RESETIDS
};

wire::uncounted_reason why_uncounted(const child_file& file);

// An open file by the name that the kernel gives it: it may be open for executing only.
void write_name(char* out, unsigned fd);

// What is preloaded into the other programs is ignored, and what they execute has it again.
inline bool runs_alone(wire::uncounted_reason why) {
  using enum wire::uncounted_reason;
  return why == sanitizer || why == other_libc || why == other_machine;
}

}  // namespace heapledger::probe

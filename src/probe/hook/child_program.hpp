// Programs that must run without us: a sanitizer's runtime refuses to start behind another preloaded library, a loader
// that is not glibc's cannot load us, and for another machine's or a 32-bit program glibc's says so on stderr.
//
// Reads the file that is about to be executed, and the interpreters of scripts; allocates nothing: usable between vfork
// and exec. What cannot be read is not known, so false.
#pragma once

namespace heapledger::probe {

bool runs_alone(const char* path);

// The same for what libc looks up in PATH.
bool searched_runs_alone(const char* file);

// The same as execveat finds it, which AT_EMPTY_PATH makes the open file `folder` itself.
bool runs_alone(int folder, const char* path, int flags);

}  // namespace heapledger::probe

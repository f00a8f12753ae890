#pragma once

namespace heapledger::probe {

// Whether a program that is about to be executed must run without us: a sanitizer's runtime in it refuses to start
// behind another preloaded library. Reads the file's dynamic section; allocates nothing. nullptr: not known, so false.
bool brings_sanitizer(const char* path);

// The same for what libc looks up in PATH.
bool searched_brings_sanitizer(const char* file);

}  // namespace heapledger::probe

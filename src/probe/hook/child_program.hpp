#pragma once

namespace heapledger::probe {

// Whether a program that is about to be executed must run without us: a sanitizer's runtime in it refuses to start
// behind another preloaded library. Reads the file's dynamic section; allocates nothing. Paths without a slash are not
// looked up.
bool brings_sanitizer(const char* path);

}  // namespace heapledger::probe

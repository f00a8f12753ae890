// Has a running process load a library and call one function of it, in one of its threads at a moment where that is
// safe. Where none comes, or something fails, the process is as it was.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "tool/inject/target.hpp"

namespace heapledger::inject {

struct wish {
  std::string library;   // loaded if it is not yet
  std::string function;  // int (const char*)
  std::string argument;
  std::uint64_t patience_ns = 5'000'000'000;  // to find a safe moment
  bool heeds_filters = false;  // not where a filter of system calls ends the process for what the probe needs
};

struct outcome {
  std::int32_t result = 0;       // what the function returned
  std::uint64_t stopped_ns = 0;  // for how long the one thread stood still for it
  unsigned tries = 0;            // threads that were looked at
};

// Throws input_error. Does all its work in a thread of its own; nothing stays traced.
outcome call_in(const target& in, const wish& what);

}  // namespace heapledger::inject

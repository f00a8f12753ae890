// Whether any thread of a process is in the middle of a library's code: before what that code was working on is
// replaced.
#pragma once

#include <cstdint>
#include <string>

#include "tool/inject/target.hpp"

namespace heapledger::inject {

// Returns once each thread was seen outside of the library, somewhere on its way: what a thread begins to do there
// later is new. A thread that waits in the kernel is believed by where it waits, and not disturbed. Throws input_error
// where one stays in it.
void await_quiet(const target& in, const std::string& library, std::uint64_t patience_ns = 5'000'000'000);

}  // namespace heapledger::inject

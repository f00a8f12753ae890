// What the tool calls in a program that runs already, after it has had the dynamic loader load the probe there
// (docs/attach-internals.md). Both functions are called in a thread that holds neither the loader's lock nor the
// allocator's.
#pragma once

#include <cstdint>

namespace heapledger::wire {

// int heapledger_attach(const char* settings): the probe's variables as in an environment, each NAME=VALUE\n.
inline constexpr char attach_symbol[] = "heapledger_attach";
// One of them, needed to attach again: no thread is in the probe's code that was there when it was detached.
inline constexpr char quiet_setting[] = "HEAPLEDGER_QUIET=1\n";
// int heapledger_detach(): the program's calls reach its own allocator again. What was counted stays in the segment.
inline constexpr char detach_symbol[] = "heapledger_detach";

enum class attach_result : std::uint32_t {
  done = 0,
  already = 1,         // it keeps books, or does so no more: loaded at start, or attached before
  no_place = 2,        // the segment cannot be made
  foreign_loader = 3,  // the loader's scope does not look as we know it: nothing was changed
  no_allocator = 4,    // a function of it could not be found
  not_attached = 5,    // detach only
  own_allocator = 6,   // the program itself defines malloc or one of its kind: its own calls cannot be seen
  fixed_words = 7,     // memory in which the loader has bound functions cannot be written: nothing was changed
};

}  // namespace heapledger::wire

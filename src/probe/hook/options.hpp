// What the environment asks of the probe (docs/run.md lists the variables). Read from the process's initial stack,
// because the first allocation may come before libc has its environment.
#pragma once

#include <cstddef>

#include "probe/publish/segment.hpp"

namespace heapledger::probe {

struct options {
  static constexpr std::size_t path_capacity = 1024;
  wire::stacks_mode stacks = wire::stacks_mode::dwarf;
  std::uint32_t depth_limit = 0;
  bool follow = true;
  bool selected = true;  // the program's name matches HEAPLEDGER_ONLY
  bool check = false;    // walk every stack a second time with an independent unwinder
  bool lifetimes = false;
  int snapshot_signal = 0;
  bool session = false;  // `place` is a directory, else a file name pattern
  bool wished = false;   // that pattern was given, so that it matters if nothing can be made there
  bool device = false;  // and names a device, as /dev/null: then the books are kept in memory, and for the program only
  char place[path_capacity] = {};
  char program[256] = {};
  char exe[4096] = {};  // as long as the kernel tells
};

void read_options(options& out);

// Of these, each NAME=VALUE\n, instead of the environment. False: more than there is room for.
bool read_options(options& out, const char* given);

// Writes the name of the attempt-th segment file to try into `out` (path_capacity bytes); false when it does not fit.
bool segment_path(const options& from, unsigned attempt, char* out);

// False: the session's folder is out of reach, in another root or for who the process is by now.
bool is_place_within_reach(const options& from);
// One line to standard error: there will be no profile.
void complain_of_place(const options& from);

}  // namespace heapledger::probe

// The programs of this machine that keep books right now: every process that maps a segment. The segment's place is
// read from /proc/PID/maps, so it does not matter who started the program, or where the segment lies. Programs of other
// users are seen by root only, and programs in other containers not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace heapledger::collect {

struct running_program {
  pid_t pid = 0;
  std::string segment;  // path
  std::string exe;
  std::vector<std::string> command;
};

std::vector<running_program> find_programs();  // by pid
std::optional<running_program> find_program(pid_t pid);
// Waits for a moment where a program has the probe and is just making its segment. Throws input_error: there is no such
// process, or it is not under heapledger.
running_program await_program(pid_t pid);

// Where find_program found nothing. Throws input_error: what the process is instead, and what to do.
[[noreturn]] void refuse_process(pid_t pid);

}  // namespace heapledger::collect

// Parts of libc without a name that a function with one ends in, by a jump: sem_wait has given way to such a part when
// it waits, and is not on the stack any more.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>
#include <vector>

#include "tool/inject/exports.hpp"

namespace heapledger::inject {

struct nameless_part {
  std::uint64_t start = 0;  // addresses in the file
  std::uint64_t end = 0;
  std::string_view of;  // a name in `exports`
};

// Of functions for which `is_wanted` holds. `base` is where address 0 of the file is in the process, whose memory is
// read.
std::vector<nameless_part> find_tail_calls(pid_t pid, std::uint64_t base, const exports& of,
                                           bool (*is_wanted)(std::string_view name));

}  // namespace heapledger::inject

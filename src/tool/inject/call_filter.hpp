// Filters of system calls (seccomp), which may end a program for a call that it does not make itself. Each is run here
// with the calls that loading the probe, and counting, take.
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string_view>

namespace heapledger::inject {

// What the filter has done about a call: SECCOMP_RET_*, without its data. One that the kernel would not have taken
// allows all.
std::uint32_t action_of(std::span<const sock_filter> filter, const seccomp_data& call);

// The first call that the filters of a stopped thread would end it for, if only by a signal; empty where there is none,
// and where filters cannot be read, which takes CAP_SYS_ADMIN.
std::string_view call_that_ends(pid_t tid);

}  // namespace heapledger::inject

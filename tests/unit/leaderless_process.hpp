#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "tool/collect/process.hpp"

namespace heapledger::testing {

// A child whose first thread has ended, while another one goes on. To be killed and reaped.
inline pid_t leaderless_process() {
  const pid_t child = ::fork();
  if (child == 0) {
    std::thread([] {
      for (;;) ::pause();
    }).detach();
    ::syscall(SYS_exit, 0);  // of this thread alone
  }
  const auto stat = "/proc/" + std::to_string(child) + "/stat";
  while (collect::read_proc_file(stat, 4096).find(") Z ") == std::string::npos) ::sched_yield();
  return child;
}

}  // namespace heapledger::testing

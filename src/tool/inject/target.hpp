// Whether a process can be attached to at all; looked at before anything in it is touched.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tool/inject/exports.hpp"
#include "tool/inject/libc_code.hpp"
#include "tool/inject/modules.hpp"
#include "tool/inject/same_process.hpp"

namespace heapledger::inject {

struct target {
  pid_t pid = 0;
  same_process identity;
  std::string program;  // path of its file, as it sees it
  std::vector<module> modules;
  std::size_t libc = 0;  // index into modules
  exports libc_exports;
  libc_code code;
  bool program_has_malloc = false;

  // Address in the process of a function of its libc; 0: it has none.
  std::uint64_t libc_function(std::string_view name) const;
};

// Throws input_error, one line that says what stands against it and what to do. `library` is a path of ours; it must be
// the same file for the process.
target examine_target(pid_t pid, const std::string& library);

// Whether the process sees the same file or folder under this path as we do.
bool sees_the_same(pid_t pid, const std::string& path);

// The words on a ptrace that was refused, by /proc/PID/status and kernel.yama.ptrace_scope.
std::string why_not_traced(std::string_view status, std::string_view ptrace_scope, std::string_view command);

}  // namespace heapledger::inject

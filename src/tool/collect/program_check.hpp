// Can a program be profiled by preloading? Looks at the file before anything is started, so that `run` refuses with
// one clear line and `doctor` explains. Finds the file as execvp would, follows #! lines, reads ELF through libelf.
// The file is hostile input: nothing is assumed about it, and what cannot be read is said to be unchecked.
#pragma once

#include <string>
#include <vector>

namespace heapledger {

enum class obstacle {
  not_found,         // no such file: exit 127
  not_executable,    // no permission, a directory, another machine's program, a missing interpreter: exit 126
  static_program,    // no dynamic loader, so nothing is ever preloaded
  foreign_libc,      // a dynamic loader that is not glibc's
  privileged,        // setuid, setgid, file capabilities: the loader ignores LD_PRELOAD
  sanitizer,         // AddressSanitizer and its kin own malloc
  own_allocator,     // brings a malloc that ours cannot stand before
  no_unwind_tables,  // stacks end in its code
  unchecked,         // executable, but not readable for us
  script             // runs through an interpreter: that one is profiled
};

enum class severity { note, warning, fatal };  // fatal: a run would give no profile

struct program_finding {
  obstacle what;
  severity weight;
  std::string words;  // what is wrong and what to do; reads on after "PROGRAM: ", no final full stop
};

struct program_check {
  std::string path;   // what execvp would start; empty when not found
  std::string image;  // what runs then: the same, or a script's interpreter; empty where it was not looked at
  std::vector<program_finding> findings;

  const program_finding* fatal() const {
    for (const auto& finding : findings) {
      if (finding.weight == severity::fatal) return &finding;
    }
    return nullptr;
  }
};

// `program` is what was typed: a path, or a name to look for in PATH.
program_check check_program(const std::string& program);

}  // namespace heapledger

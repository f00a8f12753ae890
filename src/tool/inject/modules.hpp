// The ELF files that a process runs from: the program, its libraries, the loader. Which they are is read from
// /proc/PID/maps; a file is opened only if what is mapped is what it holds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::inject {

struct module {
  std::uint64_t start = 0;  // where the file's beginning is mapped
  std::uint64_t end = 0;    // of its last mapping
  std::uint64_t first_end = 0;
  std::string path;  // as the process sees it
  bool is_vdso = false;

  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

std::vector<module> read_modules(pid_t pid);  // by address

// Empty where it is not the file any more that is mapped, or cannot be read.
collect::unique_fd open_module(pid_t pid, const module& of);

const module* module_at(const std::vector<module>& modules, std::uint64_t address);

enum class library_kind { other, libc, loader };
library_kind kind_of(const std::string& name);  // by the name of its file

}  // namespace heapledger::inject

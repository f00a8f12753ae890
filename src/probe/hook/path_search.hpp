// Where libc's execvp and posix_spawnp find a program. Allocates nothing: usable between vfork and exec.
#pragma once

#include <limits.h>

#include <cstddef>

namespace heapledger::probe {

inline constexpr std::size_t searched_path_bytes = PATH_MAX + NAME_MAX + 2;

// Writes the file that would be executed for a name without a slash into `out` (searched_path_bytes); false when the
// search finds none.
bool find_in_path(const char* file, char* out);

// What execvp would execute; no path where the search finds none.
class searched_program {
 public:
  explicit searched_program(const char* file);
  const char* path() const { return path_; }

 private:
  const char* path_ = nullptr;
  char found_[searched_path_bytes];
};

}  // namespace heapledger::probe

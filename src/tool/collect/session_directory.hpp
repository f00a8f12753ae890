// The directory where the processes of one run put their segments: on a memory file system where there is one with
// room, only its owner may look into it. It is removed at the end unless it is kept.
#pragma once

#include <string>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

class session_directory {
 public:
  // Tries /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /var/tmp and `last_resort`. Throws input_error, naming what stood
  // in the way at each.
  explicit session_directory(const std::string& last_resort);
  ~session_directory();
  session_directory(const session_directory&) = delete;
  session_directory& operator=(const session_directory&) = delete;

  const std::string& path() const { return path_; }
  void keep(bool wanted) { kept_ = wanted; }

  // A link in the directory to `library`, for a path that LD_PRELOAD cannot name.
  std::string link_to(const std::string& library) const;

 private:
  std::string path_;
  bool kept_ = false;
};

}  // namespace heapledger::collect

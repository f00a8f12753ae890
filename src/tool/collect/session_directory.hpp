// The directory where the processes of one run put their segments: on a memory file system where there is one with
// room, only its owner may look into it. It is removed at the end unless it is kept.
//
// A program that root starts may go on as another user, and its segments with it. So for root the segments lie in a
// folder inside, in which everybody may create files and nobody but root may list or remove another's: who can neither
// list the directory around it nor guess the folder's name does not reach it.
#pragma once

#include <cstdint>
#include <string>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

class session_directory {
 public:
  // Tries /dev/shm, $XDG_RUNTIME_DIR, $TMPDIR, /tmp, /var/tmp and `last_resort`. Throws input_error, naming what stood
  // in the way at each.
  explicit session_directory(const std::string& last_resort, bool for_other_users = is_root());
  ~session_directory();
  session_directory(const session_directory&) = delete;
  session_directory& operator=(const session_directory&) = delete;

  const std::string& path() const { return path_; }  // where the segments lie
  void keep(bool wanted) { kept_ = wanted; }

  // What the segments of ended processes may take: 256 MiB, or a quarter of the room that was there at the start. A
  // container's /dev/shm has 64 MiB.
  std::uint64_t share_for_ended() const { return share_for_ended_; }

  // A link in the directory to `library`, for a path that LD_PRELOAD cannot name.
  std::string link_to(const std::string& library) const;

 private:
  static bool is_root();

  std::string outer_;
  std::string path_;
  std::uint64_t share_for_ended_ = 0;
  bool kept_ = false;
};

}  // namespace heapledger::collect

#include "tool/collect/session_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tool/collect/environment.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/held_back_signal.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t room_bytes = 16 << 20;  // for the segments of a few processes
constexpr fsfilcnt_t room_files = 64;           // a process that cannot make one is missing without a word
constexpr off_t tried_bytes = 1 << 20;
constexpr std::uint64_t most_for_ended_bytes = 256 << 20;
constexpr std::size_t longest_path = 900;  // the probe has room for 1,023 characters, with the name of a segment

std::vector<std::string> candidates(const std::string& last_resort) {
  std::vector<std::string> result = {"/dev/shm"};
  for (const char* name : {"XDG_RUNTIME_DIR", "TMPDIR"})
    if (const char* value = std::getenv(name); value != nullptr && value[0] == '/') result.emplace_back(value);
  result.insert(result.end(), {"/tmp", "/var/tmp"});
  std::error_code error;
  const auto absolute = std::filesystem::absolute(last_resort, error);
  if (!error) result.push_back(absolute.string());
  return result;
}

std::uint64_t random_number() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random))
    throw std::system_error(errno, std::generic_category(), "getrandom");
  return random;
}

std::string random_name() {
  return fmt::format("heapledger-{}-{}-{:016x}", ::getuid(), ::getpid(), random_number());
}

// Whatever the umask is. Returns an errno.
int make(const std::string& directory, mode_t mode) {
  return ::mkdir(directory.c_str(), 0700) == 0 && ::chmod(directory.c_str(), mode) == 0 ? 0 : errno;
}

// Writes for a moment: the one way to learn of quotas and limits. Returns an errno.
int try_room(const std::string& directory, std::uint64_t& free_bytes) {
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) return errno;
  free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  const bool has_few_files = space.f_files != 0 && space.f_favail < room_files;  // 0: where they are not counted
  if (free_bytes < room_bytes || has_few_files) return ENOSPC;
  const auto path = directory + "/room";
  const unique_fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return errno;
  const held_back_signal hold(SIGXFSZ);
  const int error = ::posix_fallocate(fd.get(), 0, tried_bytes);
  ::unlink(path.c_str());
  return error;
}

const char* words_of(int error) {
  return error == EFBIG ? "beyond the limit of file sizes (ulimit -f)" : std::strerror(error);
}

}  // namespace

bool session_directory::is_root() {
  return ::geteuid() == 0;
}

session_directory::session_directory(const std::string& last_resort, bool for_other_users) {
  std::string obstacles;
  for (const auto& parent : candidates(last_resort)) {
    const auto outer = parent + "/" + random_name();
    const auto inner =
        for_other_users ? fmt::format("{}/{:016x}{:016x}", outer, random_number(), random_number()) : outer;
    int error = inner.size() > longest_path ? ENAMETOOLONG : make(outer, for_other_users ? 0711 : 0700);
    if (error == 0) {
      if (for_other_users) error = make(inner, 01733);
      std::uint64_t free_bytes = 0;
      if (error == 0) error = try_room(inner, free_bytes);
      if (error == 0) {
        share_for_ended_ = std::min(most_for_ended_bytes, free_bytes / 4);
        outer_ = outer;
        path_ = inner;
        return;
      }
      if (for_other_users) ::rmdir(inner.c_str());
      ::rmdir(outer.c_str());
    }
    if (obstacles.find(parent + ":") == std::string::npos)
      obstacles += fmt::format("{}{}: {}", obstacles.empty() ? "" : ", ", parent, words_of(error));
  }
  throw input_error("no directory for the session", obstacles,
                    fmt::format("set TMPDIR to a directory with {} MiB of room", room_bytes >> 20));
}

session_directory::~session_directory() {
  std::error_code ignored;
  if (!kept_) std::filesystem::remove_all(outer_, ignored);
}

std::string session_directory::link_to(const std::string& library) const {
  auto link = path_ + "/libheapledger.so";
  if (!can_preload(link) || ::symlink(library.c_str(), link.c_str()) != 0)
    throw input_error(library, "the loader cannot preload a path with spaces or colons",
                      "install heapledger under another path");
  return link;
}

}  // namespace heapledger::collect

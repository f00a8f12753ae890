#include "tool/profile/new_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "tool/profile/held_back_signal.hpp"
#include "tool/profile/output_target.hpp"

namespace heapledger {
namespace {

// The error number, or 0.
int write_all(int fd, std::string_view bytes, int signal) {
  const held_back_signal hold(signal);
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    if (written == 0) return ENOSPC;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::string temporary_name(const std::string& path, unsigned attempt) {
  static std::atomic<unsigned> serial{0};
  return fmt::format("{}.heapledger-{}-{}-{}.tmp", folder_prefix(path), getpid(), serial++, attempt);
}

std::string descriptor_path(int fd) {
  return fmt::format("/proc/self/fd/{}", fd);
}

// A file without a name leaves nothing behind, whatever ends the tool. -1 where the file system has none, or /proc is
// not there to name it.
int open_nameless(const std::string& path) {
  const std::string folder = folder_prefix(path);
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_WRONLY | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd < 0 || access(descriptor_path(fd).c_str(), F_OK) == 0) return fd;
  close(fd);
  return -1;
}

// The error number, or 0.
int give_name(int fd, const std::string& path) {
  const std::string source = descriptor_path(fd);
  return linkat(AT_FDCWD, source.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

constexpr unsigned last_attempt = 1000;

}  // namespace

new_file::new_file(const std::string& path) : path_(path), fd_(open_nameless(path)) {
  for (unsigned attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = temporary_name(path_, attempt);
    fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd_ < 0 && (errno != EEXIST || attempt == last_attempt)) fail(errno);
  }
}

new_file::~new_file() {
  if (fd_ >= 0) close(fd_);
  if (!named_ && !temporary_.empty()) unlink(temporary_.c_str());
}

void new_file::fail(int error) const {
  throw_cannot_write(path_, error);
}

void new_file::write(std::string_view bytes) {
  if (const int error = write_all(fd_, bytes, SIGXFSZ)) fail(error);
}

// Some file systems find out only here that there is no room.
void new_file::finish(bool durable) {
  if (durable && fsync(fd_) != 0 && errno != EINVAL && errno != EROFS) fail(errno);
  const int fd = fd_;
  fd_ = -1;
  if (close(fd) != 0 && errno != EINTR) fail(errno);
}

bool new_file::appear() {
  if (temporary_.empty()) {
    const int unnamed = give_name(fd_, path_);
    if (unnamed == EEXIST) return false;
    if (unnamed != 0) fail(unnamed);
    named_ = true;
    finish(false);
    return true;
  }
  finish(false);
  int error = renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_NOREPLACE) == 0 ? 0 : errno;
  if (error == EINVAL || error == ENOSYS) {  // NFS, for one: a second name, then not the first one any more
    error = link(temporary_.c_str(), path_.c_str()) == 0 ? 0 : errno;
    if (error == 0) unlink(temporary_.c_str());
  }
  if (error == EEXIST) return false;
  if (error != 0) fail(error);
  named_ = true;
  return true;
}

// Only a name can take the place of another one. The writing is on disk by then, so the moment is short.
void new_file::name_for_a_moment() {
  fsync(fd_);
  for (unsigned attempt = 0;; ++attempt) {
    const std::string name = temporary_name(path_, attempt);
    const int error = give_name(fd_, name);
    if (error == EEXIST && attempt < last_attempt) continue;
    if (error != 0) fail(error);
    temporary_ = name;
    return;
  }
}

// On disk before the old file is gone: a power failure must not take both. Without an old file that takes two waits
// for the disk less, which a run of thousands of processes would be long about.
void new_file::replace() {
  if (temporary_.empty()) {
    if (appear()) return;
    name_for_a_moment();
  }
  finish(true);
  if (rename(temporary_.c_str(), path_.c_str()) != 0) fail(errno);
  named_ = true;
}

void write_to_device(const std::string& path, std::string_view bytes) {
  const int fd = open_device(path);
  const int error = write_all(fd, bytes, SIGPIPE);
  close(fd);
  if (error != 0) throw_cannot_write(path, error);
}

}  // namespace heapledger

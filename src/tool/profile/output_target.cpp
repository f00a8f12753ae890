#include "tool/profile/output_target.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstring>

#include "tool/profile/error.hpp"

namespace heapledger {
namespace {

constexpr int most_links = 40;  // the kernel's own

class held_name {
 public:
  explicit held_name(const std::string& path) : fd_(open(path.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC)) {}
  ~held_name() {
    if (fd_ >= 0) close(fd_);
  }
  held_name(const held_name&) = delete;
  held_name& operator=(const held_name&) = delete;

  bool look(struct stat& to) const { return fd_ >= 0 && fstat(fd_, &to) == 0; }
  // Links in /proc lead to open files, also to those without a name: only the kernel can follow them.
  bool is_in_proc() const {
    struct statfs system {};
    return fstatfs(fd_, &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
  }
  std::string link() const {
    std::array<char, PATH_MAX> text{};
    const ssize_t length = readlinkat(fd_, "", text.data(), text.size());
    return {text.data(), length > 0 ? static_cast<std::size_t>(length) : 0};
  }

 private:
  int fd_;
};

bool is_planted(const std::string& path, const struct stat& found) {
  const std::string folder = folder_prefix(path);
  struct stat around {};
  if (stat(folder.empty() ? "." : folder.c_str(), &around) != 0) return false;
  return (around.st_mode & S_IWOTH) != 0 && found.st_uid != geteuid() && found.st_uid != around.st_uid;
}

target_kind kind_of(const struct stat& found) {
  if (S_ISREG(found.st_mode)) return target_kind::file;
  return S_ISDIR(found.st_mode) ? target_kind::folder : target_kind::device;
}

}  // namespace

std::string folder_prefix(const std::string& path) {
  return path.substr(0, path.rfind('/') + 1);
}

void throw_cannot_write(const std::string& path, int error) {
  const char* advice = "choose another place with -o";
  if (error == ENOSPC || error == EDQUOT) advice = "make room, or choose another place with -o";
  if (error == EFBIG) advice = "raise the limit on file sizes (ulimit -f)";
  if (error == ENOENT || error == ENOTDIR) advice = "make its folder, or choose another place with -o";
  throw input_error(path, fmt::format("cannot be written ({})", std::strerror(error)), advice);
}

output_target find_output(const std::string& path) {
  std::string at = path;
  for (int links = 0; links < most_links; ++links) {
    const held_name name(at);
    struct stat found {};
    if (!name.look(found)) return {at, target_kind::absent};
    const bool is_link = S_ISLNK(found.st_mode);
    if ((is_link || kind_of(found) == target_kind::device) && is_planted(at, found)) {
      throw input_error(at,
                        fmt::format("is a {} of another user, in a folder that everybody may write to",
                                    is_link ? "symbolic link" : "device or pipe"),
                        "remove it, or choose another place with -o");
    }
    if (!is_link) return {at, kind_of(found)};
    if (name.is_in_proc()) {
      if (stat(at.c_str(), &found) != 0) return {at, target_kind::absent};
      if (!S_ISREG(found.st_mode)) return {at, kind_of(found)};
    }
    const std::string target = name.link();
    if (target.empty()) throw_cannot_write(path, ENOENT);
    at = target.front() == '/' ? target : folder_prefix(at) + target;
  }
  throw_cannot_write(path, ELOOP);
}

bool is_same_file(const std::string& path, const std::string& other) {
  struct stat one {
  }, two{};
  return stat(path.c_str(), &one) == 0 && stat(other.c_str(), &two) == 0 && S_ISREG(one.st_mode) &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

int open_device(const std::string& path) {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
  if (fd < 0) throw_cannot_write(path, errno);
  struct stat status {};
  if (fstat(fd, &status) == 0 && !S_ISREG(status.st_mode)) return fd;
  close(fd);
  throw_cannot_write(path, EEXIST);
}

}  // namespace heapledger

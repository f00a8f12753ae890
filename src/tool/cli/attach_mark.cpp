#include "tool/cli/attach_mark.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "tool/collect/process_watch.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

constexpr std::size_t most_words = 1 << 16;

std::string mark_of(const std::string& directory) {
  return directory + "/attach";
}
std::string wish_of(const std::string& directory) {
  return directory + "/detach";
}

}  // namespace

attach_mark::attach_mark(const std::string& directory)
    : directory_(directory),
      file_(::open(mark_of(directory).c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_APPEND, 0644)) {
  if (!file_ || ::flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
    throw input_error(directory, std::strerror(errno), "set TMPDIR to a directory on this machine");
  // There may be no room when it comes to that. A file system that cannot keep it ahead may still have it then.
  [[maybe_unused]] const int kept = ::fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, 0, most_words);
}

bool attach_mark::is_asked_to_end() const {
  return ::faccessat(AT_FDCWD, wish_of(directory_).c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

void attach_mark::say(const std::string& line) const {
  const auto text = line + "\n";
  [[maybe_unused]] const auto written = ::write(file_.get(), text.data(), text.size());
}

found_watcher find_watcher(const std::string& directory) {
  found_watcher found;
  found.file = collect::unique_fd(::open(mark_of(directory).c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK));
  if (!found.file) return found;
  found.state = ::flock(found.file.get(), LOCK_EX | LOCK_NB) == 0 ? attach_watcher::gone : attach_watcher::there;
  return found;
}

std::string ask_to_end(const std::string& directory, const found_watcher& watcher) {
  const collect::unique_fd wish(::open(wish_of(directory).c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!wish) throw input_error(directory, std::strerror(errno), "be the user who attached, or root");
  while (::flock(watcher.file.get(), LOCK_SH) != 0)
    if (errno != EINTR) throw input_error(directory, std::strerror(errno));
  std::string words(most_words, '\0');
  const ssize_t got = ::pread(watcher.file.get(), words.data(), words.size(), 0);
  words.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return words;
}

void remove_session(const std::string& directory) {
  ::unlink(mark_of(directory).c_str());
  ::unlink(wish_of(directory).c_str());
  std::error_code unreadable;
  for (const auto& each : std::filesystem::directory_iterator(directory, unreadable))
    if (collect::parse_segment_name(each.path().filename().string())) ::unlink(each.path().c_str());
  if (::rmdir(directory.c_str()) != 0) return;
  const auto outer = directory.substr(0, directory.rfind('/'));  // root's sessions have one around it
  if (outer.substr(outer.rfind('/') + 1).starts_with("heapledger-")) ::rmdir(outer.c_str());
}

}  // namespace heapledger::cli

#include "tool/cli/attach_mark.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tool/collect/process_watch.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_words = 1 << 16;
constexpr std::chrono::minutes longest_begin(
    1);  // and the thread that was to load the probe has done so, or never will

std::string mark_of(const std::string& directory) {
  return directory + "/attach";
}
std::string wish_of(const std::string& directory) {
  return directory + "/detach";
}

// Root's sessions have one around them.
fs::path outermost(const fs::path& directory) {
  const auto around = directory.parent_path();
  return around.filename().string().starts_with("heapledger-") ? around : directory;
}

bool is_abandoned(const std::string& directory) {
  std::error_code unknown;
  const auto begun = fs::last_write_time(mark_of(directory), unknown);
  if (unknown || fs::file_time_type::clock::now() - begun < longest_begin) return false;
  const fs::directory_iterator files(directory, unknown);
  const auto is_other = [](const auto& file) { return file.path().filename() != "attach"; };
  return !unknown && std::none_of(begin(files), end(files), is_other) &&
         find_watcher(directory).state == attach_watcher::gone;
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
  for (const auto& each : fs::directory_iterator(directory, unreadable))
    if (collect::parse_segment_name(each.path().filename().string())) ::unlink(each.path().c_str());
  if (::rmdir(directory.c_str()) != 0) return;
  if (const auto around = outermost(directory); around != directory) ::rmdir(around.c_str());
}

void remove_abandoned_sessions(const std::string& directory) {
  const auto ours = fmt::format("heapledger-{}-", ::getuid());
  std::error_code unreadable;
  std::vector<std::string> abandoned;
  for (const auto& session : fs::directory_iterator(outermost(directory).parent_path(), unreadable)) {
    if (!session.path().filename().string().starts_with(ours) || session.is_symlink(unreadable)) continue;
    if (is_abandoned(session.path())) abandoned.push_back(session.path());
    for (const auto& inner : fs::directory_iterator(session, unreadable))
      if (is_abandoned(inner.path())) abandoned.push_back(inner.path());
  }
  std::for_each(abandoned.begin(), abandoned.end(), remove_session);
}

}  // namespace heapledger::cli

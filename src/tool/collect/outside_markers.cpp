#include "tool/collect/outside_markers.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tool/collect/books.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/totals.hpp"
#include "tool/profile/error.hpp"
#include "wire/snapshot.hpp"

namespace heapledger::collect {
namespace {

[[noreturn]] void cannot(const std::string& path, int error) {
  throw input_error(fmt::format("{}: {}", path, std::strerror(error)));
}

constexpr int append_flags = O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;

// Whoever profiles can read it, also where root made it. Only a file that was made just now is given away: one that was
// there may have got this name to be given away.
unique_fd open_for_more(const std::string& path, const segment_file& segment) {
  struct stat owner {};
  if (::fstat(segment.fd(), &owner) != 0) cannot(segment.path(), errno);
  unique_fd fd(::open(path.c_str(), append_flags | O_CREAT | O_EXCL, 0600));
  if (fd) {
    if (owner.st_uid != ::geteuid() && ::fchown(fd.get(), owner.st_uid, owner.st_gid) != 0) cannot(path, errno);
    return fd;
  }
  if (errno == EEXIST) fd = unique_fd(::open(path.c_str(), append_flags));
  if (!fd) cannot(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) cannot(path, errno);
  if (!S_ISREG(status.st_mode) || status.st_nlink != 1 || status.st_uid != owner.st_uid)
    throw input_error(path + ": not a file of ours");
  return fd;
}

std::string books_of(const segment_copy& copy, wire::marker& totals) {
  const auto sums = add_up(copy);
  std::string bytes;
  char entry[wire::snapshot_entry_limit];
  std::uint32_t last = 0;
  for (std::uint32_t i = 0; i < sums.accounts.size(); ++i) {
    const auto& c = sums.accounts[i];
    totals.live_bytes += c.live_bytes();
    totals.live_blocks += c.live_blocks();
    const wire::account_counters counters{c.allocations, c.allocated_bytes, c.frees,     c.freed_bytes,
                                          c.temporaries, c.reallocations,   c.peak_bytes};
    if (i != 0 && wire::is_blank(counters)) continue;
    bytes.append(entry, static_cast<std::size_t>(wire::put_entry(entry, i - last, counters) - entry));
    last = i;
  }
  return bytes;
}

}  // namespace

std::string outside_markers_path(const std::string& segment_path) {
  return segment_path + ".marks";
}

std::string read_outside_markers(const segment_file& segment) {
  const auto path = outside_markers_path(segment.path());
  const unique_fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  struct stat owner {};
  if (!fd || ::fstat(fd.get(), &status) != 0 || !S_ISREG(status.st_mode)) return {};
  if (::fstat(segment.fd(), &owner) != 0 || status.st_uid != owner.st_uid) return {};  // another user's
  std::string bytes(std::min(static_cast<std::uint64_t>(status.st_size), outside_markers_limit), '\0');
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t got = ::pread(fd.get(), bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    at += static_cast<std::size_t>(got);
  }
  bytes.resize(at);
  return bytes;
}

wire::marker add_outside_marker(const segment_file& segment,
                                const std::function<std::string(const wire::marker&)>& name_of, bool with_books) {
  wire::marker marker{};
  marker.kind = with_books ? wire::marker_kind::snapshot : wire::marker_kind::mark;
  marker.monotonic_ns = monotonic_ns();
  std::string books;
  if (with_books) {
    books = books_of(copy_segment(segment), marker);
    marker.snapshot_bytes = books.size();
  } else {
    const auto totals = totals_reader(segment).read();
    if (!totals) throw input_error(segment.path() + ": the segment was cut off while it was read");
    marker.live_bytes = totals->live_bytes();
    marker.live_blocks = totals->live_blocks();
  }
  name_of(marker).copy(marker.name, sizeof marker.name - 1);
  const auto path = outside_markers_path(segment.path());
  const auto fd = open_for_more(path, segment);
  std::string record(sizeof marker, '\0');
  std::memcpy(record.data(), &marker, sizeof marker);
  record += books;
  if (::flock(fd.get(), LOCK_EX) != 0) cannot(path, errno);
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) cannot(path, errno);
  if (static_cast<std::uint64_t>(status.st_size) + record.size() > outside_markers_limit)
    throw input_error(path + ": full: no more marks and snapshots of this process");
  for (std::size_t at = 0; at < record.size();) {
    const ssize_t wrote = ::write(fd.get(), record.data() + at, record.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int error = errno;
      if (::ftruncate(fd.get(), status.st_size) != 0) cannot(path, errno);  // half of one would hide those after it
      cannot(path, error);
    }
    at += static_cast<std::size_t>(wrote);
  }
  return marker;
}

}  // namespace heapledger::collect

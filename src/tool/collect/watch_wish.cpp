#include "tool/collect/watch_wish.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "tool/collect/watch_control.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

void write_word(const segment_file& segment, std::size_t offset_in_request, std::uint32_t value) {
  // The very file that is open, whatever has its name by now.
  const unique_fd fd(::open(fmt::format("/proc/self/fd/{}", segment.fd()).c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK));
  const auto at = static_cast<off_t>(request_offset + offset_in_request);
  if (!fd || ::pwrite(fd.get(), &value, sizeof value, at) != static_cast<ssize_t>(sizeof value))
    throw input_error(segment.path(), fmt::format("cannot write to the segment: {}", std::strerror(errno)));
}

}  // namespace

watch_wish read_wish(const segment_file& segment) {
  std::uint32_t words[2] = {};
  static_assert(offsetof(wire::watch_request, wish_heeded) == offsetof(wire::watch_request, wish) + sizeof words[0]);
  if (!segment.read_at(request_offset + offsetof(wire::watch_request, wish), words, sizeof words)) return {};
  return {words[0], words[1]};
}

std::uint32_t add_wish(const segment_file& segment, bool watch) {
  const auto now = read_wish(segment);
  const std::uint32_t next = now.wants_watch() == watch ? now.wish + 2 : now.wish + 1;
  write_word(segment, offsetof(wire::watch_request, wish), next);
  return next;
}

void heed_wish(const segment_file& segment, std::uint32_t wish) {
  write_word(segment, offsetof(wire::watch_request, wish_heeded), wish);
}

bool is_watched(const segment_file& segment) {
  std::uint32_t on = 0;  // stays where a watcher was killed; not yet set where one has just begun
  static_assert(sizeof on == sizeof wire::watch_request::on);
  if (!segment.read_at(request_offset + offsetof(wire::watch_request, on), &on, sizeof on)) return false;
  if (on == 0 && read_wish(segment).heeded % 2 == 0) return false;
  auto held = whole_file(F_WRLCK);
  return ::fcntl(segment.fd(), F_OFD_GETLK, &held) == 0 && held.l_type != F_UNLCK;
}

}  // namespace heapledger::collect

#include "tool/collect/watch_pages.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tool/collect/process.hpp"
#include "wire/watch.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t pages_per_slot = wire::watch_slot_bytes / page_bytes;
constexpr std::uint64_t present_bit = std::uint64_t{1} << 63;

// linux/fs.h since 6.7
struct page_region {
  std::uint64_t start, end, categories;
};
struct pm_scan_arg {
  std::uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
  std::uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
constexpr unsigned long pagemap_scan = _IOWR('f', 16, pm_scan_arg);
constexpr std::uint64_t page_is_present = 1 << 3;

}  // namespace

watch_pages::watch_pages(pid_t pid, pagemap_way way)
    : fd_(::open(fmt::format("/proc/{}/pagemap", thread_with_memory(pid)).c_str(), O_RDONLY | O_CLOEXEC)),
      scans_(way == pagemap_way::best) {
  if (!fd_) why_not_ = std::strerror(errno);
}

// Of memory that is gone nothing can be read, not even that a page is absent.
bool watch_pages::can_be_asked() const {
  std::uint64_t entry = 0;
  return ::pread(fd_.get(), &entry, sizeof entry, 0) == sizeof entry;
}

std::vector<bool> watch_pages::present(std::uint64_t base, std::uint32_t count) {
  std::vector<bool> found(count);
  if (!fd_ || count == 0) return {};
  if (scans_) {
    if (scan(base, count, found)) return found;
    if (errno != ENOTTY && errno != EINVAL && errno != ENOSYS) return {};
    scans_ = false;
    found.assign(count, false);
  }
  if (!read(base, count, found)) found.clear();
  return found;
}

bool watch_pages::scan(std::uint64_t base, std::uint32_t count, std::vector<bool>& to) {
  std::array<page_region, 1024> regions;
  const std::uint64_t end = base + count * wire::watch_slot_bytes;
  for (std::uint64_t at = base; at < end;) {
    pm_scan_arg request{};
    request.size = sizeof request;
    request.start = at;
    request.end = end;
    request.vec = reinterpret_cast<std::uint64_t>(regions.data());
    request.vec_len = regions.size();
    request.category_mask = page_is_present;
    request.return_mask = page_is_present;
    const int filled = ::ioctl(fd_.get(), pagemap_scan, &request);
    if (filled < 0) {
      if (errno == EINTR) continue;
      return false;
    }
    for (int i = 0; i < filled; ++i)
      for (std::uint64_t page = regions[i].start; page < regions[i].end && page >= base && page < end;
           page = (page - base) / wire::watch_slot_bytes * wire::watch_slot_bytes + base + wire::watch_slot_bytes)
        to[(page - base) / wire::watch_slot_bytes] = true;
    if (request.walk_end <= at) return filled == 0;  // no way forward: a kernel that we do not understand
    at = request.walk_end;
  }
  return true;
}

bool watch_pages::read(std::uint64_t base, std::uint32_t count, std::vector<bool>& to) {
  std::vector<std::uint64_t> entries(256 * pages_per_slot);
  for (std::uint32_t slot = 0; slot < count;) {
    const std::uint32_t batch = std::min<std::uint32_t>(count - slot, 256);
    const std::size_t bytes = batch * pages_per_slot * sizeof(std::uint64_t);
    const auto offset = static_cast<off_t>((base / page_bytes + slot * pages_per_slot) * sizeof(std::uint64_t));
    const ssize_t got = ::pread(fd_.get(), entries.data(), bytes, offset);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(bytes)) return false;
    for (std::uint64_t i = 0; i < batch * pages_per_slot; ++i)
      if ((entries[i] & present_bit) != 0) to[slot + i / pages_per_slot] = true;
    slot += batch;
  }
  return true;
}

}  // namespace heapledger::collect

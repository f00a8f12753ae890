#include "tool/collect/segment_copy.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "tool/collect/outside_markers.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t file_limit = std::uint64_t{1} << 46;
constexpr int fold_retries = 8;

[[noreturn]] void damaged(const std::string& path, std::string_view what) {
  throw input_error(fmt::format("{}: damaged segment: {}", path, what));
}

std::uint64_t timed(const wire::segment_header& header, std::uint64_t count) {
  return header.writer_lifetimes.capacity == 0 && header.account_lifetimes.capacity == 0 ? 0 : count;
}

struct extent {
  const char* name;
  std::uint64_t offset;
  std::uint64_t bytes;       // of the whole capacity
  std::uint64_t used_bytes;  // of the count
};

class checked_layout {
 public:
  checked_layout(const std::string& path, const wire::segment_header& header, std::uint64_t file_bytes) : path_(path) {
    add<wire::node>("nodes", header.nodes, header.node_count);
    add<wire::place>("places", header.places, header.place_count);
    add<wire::cell>("accounts", header.accounts, header.account_count);
    add<wire::account_key>("account keys", header.account_keys, header.account_count);
    add<wire::cell>("cells", header.cells, header.cell_count);
    add<wire::thread>("threads", header.threads, header.thread_count);
    add<wire::writer>("writers", header.writers, header.writer_count);
    add<wire::module>("modules", header.modules, header.module_count);
    add<char>("strings", header.strings, header.string_bytes);
    add<wire::error>("errors", header.errors, header.error_count);
    add<wire::scope>("scopes", header.scopes, header.scope_count);
    add<wire::marker>("markers", header.markers, header.marker_count);
    add<char>("snapshots", header.snapshots, header.snapshot_bytes);
    add<wire::pool_kind>("kinds of pools", header.pool_kinds, header.pool_kind_count);
    add<wire::pool>("pools", header.pools, header.pool_count);
    add<wire::pool_site>("pool sites", header.pool_sites, header.pool_site_count);
    add<std::uint32_t>("watch marks", header.watch_marks, 0);  // their counts are for who reads them
    add<wire::watch_suspect>("watch suspects", header.watch_suspects, 0);
    add<wire::watch_slot>("watch slots", header.watch_slots, 0);
    add<wire::watch_arm>("watch arms", header.watch_arms, 0);
    add<wire::freer>("freers", header.freers, header.freer_count);
    add<wire::writer_book>("writers' books", header.writer_books, header.writer_count);
    add<wire::writer_lifetimes>("writers' lifetimes", header.writer_lifetimes, timed(header, header.writer_count));
    add<wire::account_lifetimes>("accounts' lifetimes", header.account_lifetimes, timed(header, header.account_count));
    add<wire::mapping_site>("mapping sites", header.mapping_sites, header.mapping_site_count);
    add<wire::mapping>("mappings", header.mappings, header.mapping_count);
    check_overlap();
    std::uint64_t total = 0;
    for (const auto& part : extents_) {
      total += part.used_bytes;
      if (part.used_bytes != 0 && part.offset + part.used_bytes > file_bytes)
        throw input_error(fmt::format("{}: the segment is cut off: {} bytes, but its {} reach to byte {}", path,
                                      file_bytes, part.name, part.offset + part.used_bytes));
    }
    if (total > segment_read_limit)
      damaged(path, fmt::format("it claims {} bytes of content, more than {}", total, segment_read_limit));
  }

 private:
  template <class T>
  void add(const char* name, const wire::region& region, std::uint64_t count) {
    if (region.offset < wire::header_bytes || region.offset % page_bytes != 0 || region.offset > file_limit)
      damaged(path_, fmt::format("region of {} at offset {}", name, region.offset));
    if (region.capacity > file_limit / sizeof(T))
      damaged(path_, fmt::format("region of {} with a capacity of {}", name, region.capacity));
    if (count > region.capacity) damaged(path_, fmt::format("{} {} where {} fit", count, name, region.capacity));
    extents_.push_back({name, region.offset, region.capacity * sizeof(T), count * sizeof(T)});
  }

  void check_overlap() const {
    auto sorted = extents_;
    std::sort(sorted.begin(), sorted.end(), [](const extent& a, const extent& b) {
      return std::pair(a.offset, a.bytes) < std::pair(b.offset, b.bytes);  // an empty one lies where the next begins
    });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i - 1].offset + sorted[i - 1].bytes > sorted[i].offset)
        damaged(path_, fmt::format("regions of {} and {} overlap", sorted[i - 1].name, sorted[i].name));
  }

  const std::string& path_;
  std::vector<extent> extents_;
};

std::uint64_t file_bytes_of(const segment_file& file) {
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) throw input_error(fmt::format("{}: {}", file.path(), std::strerror(errno)));
  return static_cast<std::uint64_t>(status.st_size);
}

wire::segment_header read_header(const segment_file& file) {
  wire::segment_header header{};
  if (!file.read_at(0, &header, sizeof header))
    throw input_error(fmt::format("{}: the segment is cut off inside its header", file.path()));
  checked_layout(file.path(), header, file_bytes_of(file));
  return header;
}

std::string_view raw_folds(const wire::segment_header& header) {
  return {reinterpret_cast<const char*>(header.folds), sizeof header.folds};
}

template <class Container>
void read_region(const segment_file& file, const wire::region& region, std::uint64_t count, Container& to) {
  to.resize(count);
  if (!file.read_at(region.offset, to.data(), count * sizeof(to[0])))
    throw input_error(fmt::format("{}: the segment was cut off while it was read", file.path()));
}

int open_segment(const std::string& path, links how) {
  return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | (how == links::refused ? O_NOFOLLOW : 0));
}

}  // namespace

bool segment_file::read_at(std::uint64_t offset, void* to, std::size_t bytes) const {
  auto* out = static_cast<char*>(to);
  while (bytes != 0) {
    const ssize_t got = ::pread(fd_.get(), out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    out += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

segment_file::segment_file(const std::string& path, links how) : path_(path), fd_(open_segment(path, how)) {
  if (!fd_) throw input_error(fmt::format("{}: {}", path, std::strerror(errno)));
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw input_error(fmt::format("{}: not a segment: not a regular file", path));
  device_ = status.st_dev;
  inode_ = status.st_ino;
  if (!read_at(0, &header_, sizeof header_))
    throw input_error(fmt::format("{}: not a segment, or cut off: {} bytes", path, status.st_size));
  if (header_.magic != wire::segment_magic)
    throw input_error(fmt::format("{}: not a segment of heapledger: wrong magic number", path));
  if (header_.version != wire::segment_version)
    throw input_error(
        fmt::format("{}: segment version {}, this heapledger reads version {}: use the heapledger that "
                    "ran the program",
                    path, header_.version, wire::segment_version));
  if (header_.header_size != wire::header_bytes)
    damaged(path, fmt::format("a header of {} bytes", header_.header_size));
  checked_layout(path_, header_, static_cast<std::uint64_t>(status.st_size));
}

bool segment_file::is_ready(const std::string& path, links how) {
  const unique_fd fd(open_segment(path, how));
  if (!fd) return false;
  std::uint64_t magic = 0;
  return ::pread(fd.get(), &magic, sizeof magic, 0) == static_cast<ssize_t>(sizeof magic) && magic != 0;
}

std::uint64_t segment_file::resident_bytes() const {
  struct stat status {};
  return ::fstat(fd_.get(), &status) == 0 ? static_cast<std::uint64_t>(status.st_blocks) * 512 : 0;
}

std::string_view segment_copy::text(std::uint32_t offset) const {
  if (offset >= strings.size()) return {};
  const std::string_view rest = std::string_view(strings).substr(offset);
  return rest.substr(0, rest.find('\0'));
}

namespace {

void read_books(const segment_file& file, segment_copy& copy) {
  copy.resident_bytes = file.resident_bytes();
  for (int attempt = 0; attempt < fold_retries; ++attempt) {
    copy.header = read_header(file);
    const auto& header = copy.header;
    read_region(file, header.cells, header.cell_count, copy.cells);
    read_region(file, header.accounts, header.account_count, copy.accounts);
    const auto after = read_header(file);
    if (raw_folds(header) == raw_folds(after)) break;
  }
}

// What only grows is read from where it ended, and a little before: the last elements may have been handed out and not
// yet written.
template <class Container>
void read_growth(const segment_file& file, const wire::region& region, std::uint64_t count, Container& to) {
  constexpr std::size_t overlap = 1 << 14;
  const std::size_t known = to.size() > overlap && to.size() <= count ? to.size() - overlap : 0;
  to.resize(count);
  if (!file.read_at(region.offset + known * sizeof(to[0]), to.data() + known, (count - known) * sizeof(to[0])))
    throw input_error(fmt::format("{}: the segment was cut off while it was read", file.path()));
}

}  // namespace

segment_copy copy_books(const segment_file& file) {
  segment_copy copy;
  copy.path = file.path();
  read_books(file, copy);
  return copy;
}

segment_copy copy_segment(const segment_file& file) {
  segment_copy copy;
  copy.path = file.path();
  refresh_segment(file, copy);
  const auto& header = copy.header;
  read_region(file, header.writers, header.writer_count, copy.writers);
  read_region(file, header.errors, header.error_count, copy.errors);
  read_region(file, header.markers, header.marker_count, copy.markers);
  read_region(file, header.snapshots, header.snapshot_bytes, copy.snapshots);
  copy.outside_markers = read_outside_markers(file);
  read_region(file, header.pool_sites, header.pool_site_count, copy.pool_sites);
  read_region(file, header.freers, header.freer_count, copy.freers);
  refresh_mappings(file, copy);
  read_region(file, header.writer_books, header.writer_count, copy.writer_books);
  read_region(file, header.writer_lifetimes, timed(header, header.writer_count), copy.writer_lifetimes);
  read_region(file, header.account_lifetimes, timed(header, header.account_count), copy.account_lifetimes);
  read_region(file, header.strings, header.string_bytes, copy.strings);
  return copy;
}

void refresh_segment(const segment_file& file, segment_copy& copy) {
  read_books(file, copy);
  const auto& header = copy.header;
  read_growth(file, header.account_keys, header.account_count, copy.account_keys);
  read_growth(file, header.nodes, header.node_count, copy.nodes);
  read_growth(file, header.places, header.place_count, copy.places);
  read_region(file, header.threads, header.thread_count, copy.threads);
  read_region(file, header.modules, header.module_count, copy.modules);
  read_region(file, header.scopes, header.scope_count, copy.scopes);
  read_region(file, header.pool_kinds, header.pool_kind_count, copy.pool_kinds);
  read_region(file, header.pools, header.pool_count, copy.pools);
  read_growth(file, header.strings, header.string_bytes, copy.strings);
}

void refresh_mappings(const segment_file& file, segment_copy& copy) {
  const auto& header = copy.header;
  read_region(file, header.mapping_sites, header.mapping_site_count, copy.mapping_sites);
  read_region(file, header.mappings, header.mapping_count, copy.mappings);
}

}  // namespace heapledger::collect

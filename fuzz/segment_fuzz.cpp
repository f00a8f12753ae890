// Any bytes as a segment file: an input_error or a consistent profile, never a crash.
//
// Most of what a segment holds lies beyond its header, where a fuzzer would not get by itself: the header is made good
// first where the input asks for it, so that both the checks and what stands behind them are reached.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tool/collect/segment.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"

namespace {

using namespace heapledger;

constexpr std::size_t page_bytes = 4096;
constexpr std::size_t input_limit = 1 << 17;

template <class T>
void place(wire::region& region, std::uint32_t& count, std::size_t& at, std::size_t pages) {
  region.offset = at;
  region.capacity = pages * page_bytes / sizeof(T);
  count = static_cast<std::uint32_t>(std::min<std::uint64_t>(count, region.capacity));
  at += pages * page_bytes;
}

// A layout that fits; everything else stays as the input has it.
void repair(std::string& file) {
  if (file.size() < sizeof(wire::segment_header)) file.resize(sizeof(wire::segment_header));
  wire::segment_header header;
  std::memcpy(&header, file.data(), sizeof header);
  header.magic = wire::segment_magic;
  header.version = wire::segment_version;
  header.header_size = wire::header_bytes;
  std::size_t at = wire::header_bytes;
  place<wire::node>(header.nodes, header.node_count, at, 1);
  place<wire::place>(header.places, header.place_count, at, 1);
  place<wire::cell>(header.accounts, header.account_count, at, 1);
  place<wire::account_key>(header.account_keys, header.account_count, at, 1);
  place<wire::cell>(header.cells, header.cell_count, at, 1);
  place<wire::thread>(header.threads, header.thread_count, at, 1);
  place<wire::writer>(header.writers, header.writer_count, at, 1);
  place<wire::module>(header.modules, header.module_count, at, 1);
  place<char>(header.strings, header.string_bytes, at, 1);
  place<wire::error>(header.errors, header.error_count, at, 1);
  place<wire::scope>(header.scopes, header.scope_count, at, 1);
  place<wire::marker>(header.markers, header.marker_count, at, 1);
  place<char>(header.snapshots, header.snapshot_bytes, at, 1);
  place<wire::pool_kind>(header.pool_kinds, header.pool_kind_count, at, 1);
  place<wire::pool>(header.pools, header.pool_count, at, 1);
  place<wire::pool_site>(header.pool_sites, header.pool_site_count, at, 1);
  place<wire::freer>(header.freers, header.freer_count, at, 1);
  place<wire::writer_book>(header.writer_books, header.writer_count, at, 1);
  place<wire::writer_lifetimes>(header.writer_lifetimes, header.writer_count, at, 1);
  place<wire::account_lifetimes>(header.account_lifetimes, header.account_count, at, 1);
  std::uint32_t none_read = 0;
  place<std::uint32_t>(header.watch_marks, none_read, at, 1);
  place<wire::watch_suspect>(header.watch_suspects, none_read, at, 1);
  place<wire::watch_slot>(header.watch_slots, none_read, at, 1);
  place<wire::watch_arm>(header.watch_arms, none_read, at, 1);
  file.resize(std::max(file.size(), at));
  std::memcpy(file.data(), &header, sizeof header);
}

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const profile& result) {
  require(!result.nodes.empty());
  for (std::size_t i = 1; i < result.nodes.size(); ++i) {
    require(result.nodes[i].parent < i);
    require(result.nodes[i].location < result.locations.size());
  }
  for (const auto& location : result.locations)
    require(location.module == none || location.module < result.modules.size());
  for (const auto& stack : result.stacks) {
    require(stack.node < result.nodes.size());
    require(stack.thread == none || stack.thread < result.threads.size());
  }
  for (const auto& share : result.thread_shares)
    require(share.stack < result.stacks.size() && share.thread < result.threads.size());
  for (const auto& marker : result.markers) {
    require(!marker.name.empty());
    require(!marker.snapshot || *marker.snapshot < result.snapshots.size());
  }
  for (const auto& snapshot : result.snapshots)
    for (const auto& change : snapshot.changes) require(change.stack < result.stacks.size());
  format::check(result);
  format::encode(result);  // a profile that may be written, and so read
  for (const auto& scope : result.scopes) require(!scope.path.empty());
  result.totals();  // under UBSan: no overflow
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0 || size > input_limit) return 0;
  std::string file(reinterpret_cast<const char*>(data + 1), size - 1);
  std::string marks;  // what a command wrote beside it
  if (const std::size_t count = data[0] / 2; count != 0 && file.size() > count * sizeof(wire::marker)) {
    marks = file.substr(file.size() - count * sizeof(wire::marker));
    file.resize(file.size() - marks.size());
  }
  if (data[0] % 2 == 0) repair(file);

  static const int fd = ::memfd_create("segment", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  require(fd >= 0 && ::ftruncate(fd, 0) == 0 &&
          ::pwrite(fd, file.data(), file.size(), 0) == static_cast<ssize_t>(file.size()));
  try {
    auto copy = collect::copy_segment(collect::segment_file(path));
    copy.outside_markers = std::move(marks);
    check(collect::to_profile(copy));
  } catch (const input_error&) {
  }
  return 0;
}

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
#include <vector>

#include "sound_header.hpp"
#include "tool/collect/segment.hpp"
#include "tool/collect/stack_timeline.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"

namespace {

using namespace heapledger;

constexpr std::size_t input_limit = 1 << 17;

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
  if (data[0] % 2 == 0) fuzz::repair(file);

  static const int fd = ::memfd_create("segment", MFD_CLOEXEC);
  static const std::string path = "/proc/self/fd/" + std::to_string(fd);
  require(fd >= 0 && ::ftruncate(fd, 0) == 0 &&
          ::pwrite(fd, file.data(), file.size(), 0) == static_cast<ssize_t>(file.size()));
  try {
    const collect::segment_file opened(path);
    auto copy = collect::copy_segment(opened);
    copy.outside_markers = std::move(marks);
    std::vector<std::uint32_t> stack_of;
    auto result = collect::to_profile(copy, &stack_of);
    check(result);
    collect::stack_timeline looks;
    looks.sample(opened, copy.header.start_monotonic_ns);
    looks.add_to(result, stack_of, copy.header.start_monotonic_ns);
    check(result);
  } catch (const input_error&) {
  }
  return 0;
}

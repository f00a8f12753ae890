#include "tool/collect/markers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "tool/collect/times.hpp"
#include "tool/profile/payload.hpp"
#include "wire/snapshot.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t sum_limit = std::uint64_t{1} << 58;

struct found_marker {
  wire::marker marker;
  std::string_view books;  // empty: a mark
};

std::vector<found_marker> find_all(const segment_copy& segment) {
  std::vector<found_marker> all;
  const std::string_view pool = segment.snapshots;
  std::uint64_t left = pool.size();  // no two snapshots share bytes
  for (const auto& marker : segment.markers) {
    if (marker.kind == wire::marker_kind::none) continue;
    auto& found = all.emplace_back(found_marker{marker, {}});
    if (marker.snapshot_offset > pool.size() || marker.snapshot_bytes > pool.size() - marker.snapshot_offset ||
        marker.snapshot_bytes > left)
      continue;
    left -= marker.snapshot_bytes;
    found.books = pool.substr(marker.snapshot_offset, marker.snapshot_bytes);
  }
  for (std::string_view rest = segment.outside_markers; rest.size() >= sizeof(wire::marker);) {
    wire::marker marker;
    std::memcpy(&marker, rest.data(), sizeof marker);
    rest.remove_prefix(sizeof marker);
    if (marker.snapshot_bytes > rest.size()) break;  // being written
    all.push_back({marker, rest.substr(0, marker.snapshot_bytes)});
    rest.remove_prefix(marker.snapshot_bytes);
  }
  return all;
}

bool is_sound(std::int64_t value) {
  return value <= static_cast<std::int64_t>(sum_limit) && value >= -static_cast<std::int64_t>(sum_limit);
}

// Reads one snapshot after the other, each as the difference to the one before.
class snapshot_reader {
 public:
  snapshot_reader(const std::vector<std::uint32_t>& stack_ids, const profile& of)
      : stack_ids_(stack_ids), last_(of.stacks.size()), now_(of.stacks.size()) {
    for (std::uint32_t i = 0; i < of.stacks.size(); ++i) index_of_.emplace(of.stacks[i].id, i);
  }

  // Nothing where the bytes make no sense.
  std::optional<snapshot_info> read(std::string_view bytes) {
    auto stacks = add_up(bytes);
    std::optional<snapshot_info> result;
    if (stacks) {
      result = changes(*stacks);
      for (const auto stack : touched_) last_[stack] = {};
      for (const auto stack : *stacks) last_[stack] = now_[stack];
      touched_ = *stacks;
    }
    for (const auto stack : written_) now_[stack] = {};
    return result;
  }

 private:
  using stack_list = std::vector<std::uint32_t>;

  std::optional<stack_list> add_up(std::string_view bytes) {
    written_.clear();
    const char* at = bytes.data();
    const char* const end = at + bytes.size();
    std::uint64_t account = 0;
    std::uint64_t distance = 0;
    wire::account_counters entry{};
    std::array<std::uint64_t, 7> sums{};
    for (bool first = true; at != end; first = false) {
      if (!wire::get_entry(at, end, distance, entry) || (distance == 0 && !first) || distance > UINT32_MAX) return {};
      account += distance;
      if (!takes(sums, entry) || account >= stack_ids_.size()) return {};
      const auto stack = index_of_.find(stack_ids_[account]);
      if (stack == index_of_.end()) continue;  // it holds nothing, or the segment is damaged
      written_.push_back(stack->second);
      now_[stack->second] += {.allocations = entry.allocations,
                              .allocated_bytes = entry.allocated_bytes,
                              .frees = entry.frees,
                              .freed_bytes = entry.freed_bytes,
                              .temporaries = entry.temporaries,
                              .reallocations = entry.reallocations,
                              .peak_bytes = entry.peak_bytes};
    }
    return sorted(written_);
  }

  static bool takes(std::array<std::uint64_t, 7>& sums, const wire::account_counters& entry) {
    const auto peak = static_cast<std::uint64_t>(entry.peak_bytes);
    const std::uint64_t values[] = {entry.allocations,
                                    entry.allocated_bytes,
                                    entry.frees,
                                    entry.freed_bytes,
                                    entry.temporaries,
                                    entry.reallocations,
                                    entry.peak_bytes < 0 ? 0 - peak : peak};
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (values[i] > sum_limit - sums[i]) return false;
      sums[i] += values[i];
    }
    return true;
  }

  static stack_list sorted(stack_list stacks) {
    std::sort(stacks.begin(), stacks.end());
    stacks.erase(std::unique(stacks.begin(), stacks.end()), stacks.end());
    return stacks;
  }

  snapshot_info changes(const stack_list& stacks) const {
    stack_list either;
    std::set_union(stacks.begin(), stacks.end(), touched_.begin(), touched_.end(), std::back_inserter(either));
    snapshot_info result;
    for (const auto stack : either)
      if (now_[stack] != last_[stack]) result.changes.push_back({stack, now_[stack] - last_[stack]});
    return result;
  }

  const std::vector<std::uint32_t>& stack_ids_;
  std::unordered_map<std::uint32_t, std::uint32_t> index_of_;
  std::vector<counters> last_, now_;
  stack_list touched_;  // with something in last_
  stack_list written_;  // in now_
};

// A quarter of what a reader may take is left for names, which come later.
std::uint64_t room_for_snapshots(const profile& beside) {
  constexpr std::uint64_t most = format::max_memory_bytes / 2;
  constexpr std::uint64_t most_with_stacks = most + most / 2;
  return std::min(most, most_with_stacks - std::min(most_with_stacks, format::memory_bytes(beside)));
}

}  // namespace

void add_markers(const segment_copy& segment, const std::vector<std::uint32_t>& stack_ids, profile& to,
                 std::optional<std::uint64_t> room_bytes) {
  auto found = find_all(segment);
  if (found.empty()) return;
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.marker.monotonic_ns < b.marker.monotonic_ns; });
  snapshot_reader reader(stack_ids, to);
  std::uint64_t room = room_bytes ? *room_bytes : room_for_snapshots(to);
  std::uint64_t left_out = 0;
  for (const auto& [marker, books] : found) {
    marker_info info;
    info.time_ns = since_start(segment.header, marker.monotonic_ns);
    info.name = std::string(marker.name, ::strnlen(marker.name, sizeof marker.name));
    if (info.name.empty()) info.name = fmt::format("at-{:.3f}s", static_cast<double>(info.time_ns) / 1e9);
    if (!is_sound(marker.live_bytes) || !is_sound(marker.live_blocks)) continue;
    info.live_bytes = marker.live_bytes;
    info.live_blocks = marker.live_blocks;
    if (left_out != 0) {
      left_out += books.empty() ? 0 : 1;
    } else if (auto changes = books.empty() ? std::nullopt : reader.read(books)) {
      const auto bytes = changes->changes.size() * sizeof(stack_change);
      if (bytes > room) {
        ++left_out;
      } else {
        room -= bytes;
        info.snapshot = static_cast<std::uint32_t>(to.snapshots.size());
        to.snapshots.push_back(std::move(*changes));
      }
    }
    to.markers.push_back(std::move(info));
  }
  if (left_out != 0) to.profiler.losses["snapshots_full"] += left_out;
}

}  // namespace heapledger::collect

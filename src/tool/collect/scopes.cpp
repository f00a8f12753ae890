#include "tool/collect/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t deepest = 64;  // names that a path keeps; those further in count for the last of them
constexpr std::uint64_t most_names = std::uint64_t{1} << 24;
constexpr std::uint64_t largest = std::uint64_t{1} << 59;

std::optional<std::int64_t> limit_of(std::int64_t limit) {
  if (limit < 0 || static_cast<std::uint64_t>(limit) > largest) return {};
  return limit;
}

}  // namespace

scope_reader::scope_reader(const segment_copy& segment, profile& to) : source_(segment.path) {
  paths_.resize(std::max<std::size_t>(segment.scopes.size(), 1));
  for (std::uint32_t kind = 1; kind < segment.scopes.size(); ++kind) {
    const auto& scope = segment.scopes[kind];
    auto& path = paths_[kind];
    if (scope.parent < kind) path = paths_[scope.parent];
    if (path.size() == deepest) continue;
    path.emplace_back(segment.text(scope.name).substr(0, 255));
    to.scopes.push_back(
        {.path = path,
         .opened = scope.opened,
         .closed = scope.closed,
         .refusals = scope.refusals,
         .overdrafts = scope.overdrafts,
         .peak_bytes = std::clamp<std::int64_t>(scope.peak_bytes, 0, static_cast<std::int64_t>(largest)),
         .live_bytes_limit = limit_of(scope.limit[0]),
         .allocated_bytes_limit = limit_of(scope.limit[1]),
         .allocations_limit = limit_of(scope.limit[2])});
  }
}

const std::vector<std::string>& scope_reader::path_of(std::uint32_t kind) {
  names_asked_ += paths_[kind].size();
  if (names_asked_ > most_names)
    throw input_error(fmt::format("{}: damaged segment: scopes are nested too deep in too many stacks", source_));
  return paths_[kind];
}

}  // namespace heapledger::collect

#include "tool/collect/scopes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "tool/profile/check_depths.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t deepest = format::max_scope_depth;  // those further in count for the last of them
constexpr std::uint64_t most_path_bytes = std::uint64_t{1} << 29;
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
    const bool is_cut = path.size() == deepest;
    if (!is_cut) path.emplace_back(segment.text(scope.name).substr(0, 255));
    count(path);
    if (is_cut) continue;
    kinds_.push_back(kind);
    to.scopes.push_back(
        {.path = path_of(kind),
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

void scope_reader::add_freers(const segment_copy& segment, profile& to) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, freer_info> pairs;
  for (std::size_t i = 0; i < segment.freers.size(); ++i) {
    const auto& row = segment.freers[i];
    const auto known = [this](std::uint32_t kind) { return kind < paths_.size() ? kind : 0; };
    auto& sum = pairs[{known(row.owner), known(row.by)}];
    sum.frees += row.frees;
    sum.freed_bytes += row.freed_bytes;
    sum.late_frees += row.late_frees;
    sum.late_bytes += row.late_bytes;
  }
  for (auto& [kinds, sum] : pairs) {
    if (sum.frees == 0) continue;
    sum.owner = path_of(kinds.first);
    sum.by = path_of(kinds.second);
    to.freers.push_back(std::move(sum));
  }
}

void scope_reader::bound_peaks(const segment_copy& segment, std::span<const counters> accounts, profile& to) const {
  struct sums {
    std::uint64_t live = 0, allocated = 0;  // modulo 2^64, whatever a damaged segment says
  };
  std::vector<sums> all(paths_.size());
  for (std::size_t i = 0; i < accounts.size(); ++i) {
    auto& sum = all[kind_of(segment.account_keys[i])];
    sum.live += accounts[i].allocated_bytes - accounts[i].freed_bytes;
    sum.allocated += accounts[i].allocated_bytes;
  }
  for (std::size_t kind = segment.scopes.size(); kind-- > 1;)
    if (const std::size_t parent = segment.scopes[kind].parent; parent < kind) {
      all[parent].live += all[kind].live;
      all[parent].allocated += all[kind].allocated;
    }
  const bool is_all_booked = segment.header.losses[static_cast<std::size_t>(wire::loss::accounts_full)] == 0;
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    auto& scope = to.scopes[i];
    const auto& sum = all[kinds_[i]];
    if (scope.live_bytes_limit && is_all_booked && sum.allocated <= largest)
      scope.peak_bytes = std::min(scope.peak_bytes, static_cast<std::int64_t>(sum.allocated));
    if (scope.opened == 1 && sum.live <= largest)
      scope.peak_bytes = std::max(scope.peak_bytes, static_cast<std::int64_t>(sum.live));
  }
}

void scope_reader::count(const std::vector<std::string>& path) {
  for (const auto& name : path) path_bytes_ += sizeof name + name.size();
  if (path_bytes_ > most_path_bytes)
    throw input_error(
        fmt::format("{}: damaged segment: too many scopes, or nested too deep in too many stacks", source_));
}

const std::vector<std::string>& scope_reader::path_of(std::uint32_t kind) {
  count(paths_[kind]);
  return paths_[kind];
}

}  // namespace heapledger::collect

#include "tool/collect/stack_timeline.hpp"

#include <algorithm>
#include <cstdlib>
#include <tuple>

#include "tool/collect/books.hpp"
#include "tool/collect/process.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

constexpr std::int64_t share_worth_keeping = 5000;  // of what all hold, one part in so many

// Those that hold most, and one at least: a moment at which nothing was held is known, too.
template <class Holding>
void keep_largest(std::vector<Holding>& all) {
  const auto more = [](const Holding& a, const Holding& b) { return a.live_bytes > b.live_bytes; };
  std::int64_t sum = 0;
  for (const auto& each : all) sum += std::max<std::int64_t>(each.live_bytes, 0);
  const auto kept = std::min(all.size(), stack_timeline::stack_limit);
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), more);
  all.resize(kept);
  while (all.size() > 1 && all.back().live_bytes <= sum / share_worth_keeping) all.pop_back();
  all.shrink_to_fit();
}

// Accounts of one stack are one row.
void add_up_rows(std::vector<stack_moment>& rows) {
  const auto key = [](const stack_moment& row) { return std::tuple(row.stack, row.time_ns); };
  std::sort(rows.begin(), rows.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (key(rows[i]) == key(rows[kept]))
      rows[kept].live_bytes += rows[i].live_bytes;
    else
      rows[++kept] = rows[i];
  }
  if (!rows.empty()) rows.resize(kept + 1);
}

// A hostile segment may say so much at every moment that no reader takes the profile.
bool are_possible(const std::vector<stack_moment>& rows) {
  constexpr std::int64_t most_bytes = std::int64_t{1} << 58;
  std::int64_t left = most_bytes;
  return std::all_of(rows.begin(), rows.end(), [&](const stack_moment& row) {
    const auto bytes = std::abs(row.live_bytes);
    return bytes <= left && (left -= bytes, true);
  });
}

// What the profile knows of a moment exactly.
template <class Bytes>
std::vector<stack_moment> exact_moment(const profile& of, std::int64_t time_ns, Bytes&& bytes) {
  std::vector<stack_moment> rows;
  rows.reserve(of.stacks.size());
  for (std::uint32_t i = 0; i < of.stacks.size(); ++i) rows.push_back({i, time_ns, bytes(of.stacks[i].count)});
  keep_largest(rows);
  return rows;
}

}  // namespace

void stack_timeline::sample(const segment_file& file, std::uint64_t now_ns) {
  if (!pace_.is_due(now_ns)) return;
  const auto begin_ns = monotonic_ns();
  try {
    const auto live = live_by_account(copy_books(file));
    moment next{now_ns, 0, {}};
    for (std::uint32_t i = 0; i < live.size(); ++i) {
      next.live_bytes += live[i];
      if (live[i] > 0 || next.largest.empty()) next.largest.push_back({i, live[i]});
    }
    keep_largest(next.largest);
    moments_.push_back(std::move(next));
  } catch (const input_error&) {  // collecting it will say what is wrong
  }
  if (moments_.size() == moment_limit) halve();
  pace_.looked(now_ns, monotonic_ns() - begin_ns);
}

// Of two neighbours the one at which more was held stays: what a long run's peaks consist of is not lost.
void stack_timeline::halve() {
  for (std::size_t i = 0; i < moments_.size() / 2; ++i) {
    const auto higher = 2 * i + (moments_[2 * i].live_bytes < moments_[2 * i + 1].live_bytes ? 1 : 0);
    if (higher != i) moments_[i] = std::move(moments_[higher]);
  }
  moments_.resize(moments_.size() / 2);
  pace_.thinned(moments_.back().time_ns - moments_.front().time_ns, moments_.size());
}

void stack_timeline::add_to(profile& to, const std::vector<std::uint32_t>& stack_of, std::uint64_t start_ns) const {
  if (moments_.empty() || to.stacks.empty()) return;
  const auto end_ns = to.process.duration_ns;
  const auto peak_ns = to.peak.time_ns.value_or(end_ns);
  auto& rows = to.stack_timeline;
  rows = exact_moment(to, end_ns, [](const counters& count) { return count.live_bytes(); });
  if (peak_ns != end_ns) {
    const auto peak = exact_moment(to, peak_ns, [](const counters& count) { return count.peak_bytes; });
    rows.insert(rows.end(), peak.begin(), peak.end());
  }
  for (const auto& each : moments_) {
    const auto time_ns = static_cast<std::int64_t>(each.time_ns - start_ns);
    if (each.time_ns < start_ns || time_ns >= end_ns || time_ns == peak_ns) continue;
    for (const auto& [account, live_bytes] : each.largest)
      if (account < stack_of.size() && stack_of[account] != none)
        rows.push_back({stack_of[account], time_ns, live_bytes});
  }
  add_up_rows(rows);
  if (!are_possible(rows)) rows.clear();
}

}  // namespace heapledger::collect

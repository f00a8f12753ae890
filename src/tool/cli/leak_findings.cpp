#include "tool/cli/leak_findings.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "tool/analyse/excerpt.hpp"
#include "tool/analyse/leak_place.hpp"
#include "tool/cli/find_symbols.hpp"
#include "tool/collect/pools.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/segment.hpp"
#include "tool/leaks/entry.hpp"
#include "tool/leaks/growth.hpp"
#include "tool/profile/saturating.hpp"

namespace heapledger::cli {
namespace {

void add(leak_entry& to, const leak_entry& other) {
  for (const auto member :
       {&leak_entry::bytes, &leak_entry::bytes_low, &leak_entry::bytes_high, &leak_entry::bytes_per_hour,
        &leak_entry::bytes_per_hour_low, &leak_entry::bytes_per_hour_high})
    to.*member = std::min(to.*member + other.*member, leaks::most_bytes);
  to.blocks += other.blocks;
  to.oldest_age_ns = std::max(to.oldest_age_ns, other.oldest_age_ns);
  to.sampled += other.sampled;
  to.untouched += other.untouched;
  to.least_bytes = std::min(to.least_bytes, other.least_bytes);
  to.most_bytes = std::max(to.most_bytes, other.most_bytes);
}

// The watch names a pool site; the profile has pools, and the nodes of their sites.
bool name_by_pool(leak_entry& entry, const std::vector<std::optional<collect::pool_place>>& places, const profile& p) {
  const std::size_t site = entry.stack & ~leaks::pool_account;
  if (site >= places.size() || !places[site] || places[site]->pool >= p.pools.size()) return false;
  const auto& sites = p.pools[places[site]->pool].sites;
  if (places[site]->site >= sites.size()) return false;
  entry.stack = none;
  entry.pool = places[site]->pool;
  entry.node = sites[places[site]->site].node;
  return true;
}

// A stack is suspected once the blocks that it holds at least have become more several times over.
bool may_leak(const profile& p) {
  constexpr std::int64_t many = leaks::growth::fewest_rises;
  const auto holds_many = [](const stack_entry& of) { return of.count.live_blocks() >= many; };
  const auto has_many_chunks = [](const pool_site& of) {
    return of.allocations - of.frees >= leaks::growth::fewest_rises;
  };
  return std::any_of(p.stacks.begin(), p.stacks.end(), holds_many) ||
         std::any_of(p.pools.begin(), p.pools.end(), [&](const pool_info& pool) {
           return std::any_of(pool.sites.begin(), pool.sites.end(), has_many_chunks);
         });
}

}  // namespace

void name_by_stacks(leak_info& found, const collect::segment_copy& segment, const profile& p) {
  const auto key_of = [&](std::uint32_t account) {
    const auto& key = segment.account_keys[account];
    return std::pair(key.scope, key.node);
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> stack_of;
  for (const auto& stack : p.stacks)
    if (stack.id < segment.account_keys.size()) stack_of.emplace(key_of(stack.id), stack.id);
  const auto places = collect::pool_places(segment);
  std::vector<leak_entry> entries;
  for (auto& entry : found.entries) {
    if ((entry.stack & leaks::pool_account) != 0) {
      if (!name_by_pool(entry, places, p)) continue;
    } else {
      if (entry.stack >= segment.account_keys.size()) continue;
      const auto stack = stack_of.find(key_of(entry.stack));
      if (stack != stack_of.end()) entry.stack = stack->second;
    }
    const auto same = std::find_if(entries.begin(), entries.end(), [&](const auto& other) {
      return other.stack == entry.stack && other.pool == entry.pool && other.node == entry.node &&
             other.verdict == entry.verdict;
    });
    if (same == entries.end())
      entries.push_back(std::move(entry));
    else
      add(*same, entry);
  }
  found.entries = std::move(entries);
}

shown_leaks without_suppressed(const profile& p, const std::vector<leaks::suppressions>& known) {
  shown_leaks result;
  if (!p.leaks) return result;
  for (const auto& entry : p.leaks->entries) {
    const auto node = analyse::place_of(p, entry);
    const bool is_known =
        node && std::any_of(known.begin(), known.end(), [&](const auto& list) { return list.matches(p, *node); });
    if (is_known) {
      ++result.suppressed;
      continue;
    }
    result.entries.push_back(entry);
    if (leaks::was_freed_at_end(entry)) result.freed_bytes = saturating_sum(result.freed_bytes, entry.bytes);
    if (entry.verdict == "suspect" && entry.bytes > 0) {
      ++result.undecided;
      result.undecided_bytes = saturating_sum(result.undecided_bytes, entry.bytes);
    }
    if (entry.verdict != "leak") continue;
    ++result.leaks;
    result.leaked_bytes = saturating_sum(result.leaked_bytes, entry.bytes);
  }
  return result;
}

no_leak worth_of(leak_info& found, const profile& of, const leaks::hunt_options& options) {
  using defaults = leaks::hunt_options;
  const double least_s =
      options.suspicious_s.value_or(defaults::first_suspicious_s) + options.access_s.value_or(defaults::first_access_s);
  if (!leaks::watched_nothing(found)) return no_leak::told;
  if (!found.obstacle.empty()) return no_leak::untold;
  const bool has_suspects = !found.entries.empty();  // that were not watched
  if (!has_suspects && static_cast<double>(found.duration_ns) >= least_s * 1e9) return no_leak::told;
  if (!may_leak(of)) return no_leak::harmless;
  found.obstacle =
      "Nothing was watched: too short to tell. Watch for longer, or give shorter times (--suspicious, --access; "
      "of run: --leaks-suspicious, --leaks-access).";
  return no_leak::untold;
}

std::string untold_because(const leak_info& found) {
  if (!leaks::watched_nothing(found) || found.obstacle.empty()) return {};
  auto words = found.obstacle;
  words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
  if (words.ends_with('.')) words.pop_back();
  return words;
}

profile profile_of(const leaks::watcher& watch, const leaks::hunt_options& options, const debug_options& debug) {
  const auto segment = collect::copy_segment(watch.segment());
  profile whole = collect::to_profile(segment);
  const auto start_ns = segment.header.start_monotonic_ns;
  if (whole.process.ended == ending::lost)
    collect::set_ending(whole, ending::running, static_cast<std::int64_t>(collect::monotonic_ns() - start_ns));
  whole.leaks = watch.found();
  name_by_stacks(*whole.leaks, segment, whole);
  worth_of(*whole.leaks, whole, options);
  std::set<std::uint32_t> ids;
  for (const auto& entry : whole.leaks->entries) ids.insert(entry.stack);
  profile result = analyse::excerpt(whole, ids);
  find_symbols(result, debug, whole.process.ended == ending::running ? watch.pid() : 0);
  return result;
}

std::vector<leaks::suppressions> read_suppressions(const std::vector<std::string>& files) {
  std::vector<leaks::suppressions> result;
  for (const auto& file : files) result.push_back(leaks::suppressions::read(file));
  return result;
}

}  // namespace heapledger::cli

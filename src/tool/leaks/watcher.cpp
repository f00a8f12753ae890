#include "tool/leaks/watcher.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include "tool/collect/books.hpp"
#include "tool/collect/pools.hpp"
#include "tool/collect/process.hpp"
#include "tool/leaks/entry.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::leaks {
namespace {

constexpr std::uint64_t ns_per_s = 1'000'000'000;
constexpr std::uint64_t lease_ns = 10 * ns_per_s;
constexpr std::uint64_t longest_pause_ns = ns_per_s;
constexpr std::uint64_t shortest_pause_ns = 20'000'000;
constexpr std::uint64_t telling_pause_ns = ns_per_s / 2;
constexpr std::uint64_t looks_per_deadline = 10;
constexpr std::uint64_t cost_share = 50;  // a look may take a fiftieth of the time

double seconds(std::uint64_t ns) {
  return static_cast<double>(ns) / 1e9;
}

std::int64_t realtime_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * static_cast<std::int64_t>(ns_per_s) + now.tv_nsec;
}

std::uint64_t pause_of(const hunt_options& options) {
  const double shortest_s = std::min({options.suspicious_s.value_or(hunt_options::first_suspicious_s),
                                      options.access_s.value_or(hunt_options::first_access_s),
                                      options.rest_s.value_or(hunt_options::first_rest_s)});
  return std::clamp(static_cast<std::uint64_t>(shortest_s * 1e9) / looks_per_deadline, shortest_pause_ns,
                    longest_pause_ns);
}

wire::watch_verdict word_of(verdict says) {
  switch (says) {
    case verdict::leak:
      return wire::watch_verdict::leak;
    case verdict::retention:
      return wire::watch_verdict::retention;
    case verdict::suspect:
      return wire::watch_verdict::suspect;
    case verdict::none:
      break;
  }
  return wire::watch_verdict::none;
}

}  // namespace

watcher::watcher(const std::string& segment, collect::links how, pid_t pid, const hunt_options& options,
                 std::uint64_t begin_ns, earlier_blocks earlier)
    : pid_(pid),
      control_(segment, how),
      pages_(pid),
      options_(options),
      hunt_(options),
      begin_ns_(begin_ns),
      earlier_(earlier),
      due_ns_(begin_ns) {
  if (!pages_.is_open())
    throw input_error("/proc/" + std::to_string(pid) + "/pagemap", pages_.why_not(),
                      "run heapledger as the program's user, or as root");
}

bool watcher::look(std::uint64_t now_ns) {
  if (now_ns < due_ns_ || now_ns < begin_ns_) return true;
  if (began_ns_ == 0) {
    began_ns_ = now_ns;
    began_realtime_ns_ = realtime_ns();
    if (begin_ns_ == 0) hunt_.see_counts(seconds(now_ns), {});
  }
  if (const auto used_s = collect::processor_s_of(pid_)) hunt_.see_usage(seconds(now_ns), *used_s);
  hunt_.see_counts(seconds(now_ns), read_counts());
  look_at_ends();
  if (!look_at_slots(seconds(now_ns))) return false;
  last_ns_ = now_ns;
  ask();
  if (now_ns >= telling_due_ns_) tell(now_ns);
  const auto cost_ns = collect::monotonic_ns() - now_ns;
  due_ns_ = now_ns + std::max(pause_of(options_), cost_ns * cost_share);
  // From the next look on: of a program with a million stacks that is later than a lease from now.
  collect::watch_limits limits;
  limits.blocks = options_.in_all;
  control_.start(limits, due_ns_ + lease_ns);
  return true;
}

std::vector<account_counts> watcher::read_counts() const {
  const auto sums = collect::add_up(collect::copy_books(control_.segment()));
  std::vector<account_counts> result;
  for (std::uint32_t account = 0; account < sums.accounts.size(); ++account) {
    const auto& sum = sums.accounts[account];
    if (sum.allocations == 0) continue;
    result.push_back({account, {sum.allocations, sum.allocated_bytes, sum.live_blocks(), sum.live_bytes()}});
  }
  static_assert(pool_account == wire::watch_pool_site);
  const auto sites = collect::copy_pool_sites(control_.segment());
  for (std::uint32_t i = 1; i < sites.size(); ++i) {
    const auto& site = sites[i];
    const auto live = [](std::uint64_t came, std::uint64_t went) { return static_cast<std::int64_t>(came - went); };
    if (site.allocations == 0) continue;
    result.push_back({pool_account | i,
                      {site.allocations, site.allocated_bytes, live(site.allocations, site.frees),
                       live(site.allocated_bytes, site.freed_bytes)}});
  }
  return result;
}

void watcher::look_at_end() {
  if (last_ns_ == 0) return;
  const double now_s = seconds(last_ns_);
  auto before = hunt_.findings(now_s);
  hunt_.see_counts(now_s, read_counts());
  look_at_ends();
  slots_ = control_.slots();
  hunt_.see_slots(now_s, views_of(slots_, nullptr));
  const auto after = hunt_.findings(now_s);
  std::erase_if(before, [&](const finding& found) {
    const auto still = [&](const finding& now) { return now.account == found.account && now.says == verdict::leak; };
    return found.says != verdict::leak || std::any_of(after.begin(), after.end(), still);
  });
  freed_at_end_ = std::move(before);
}

void watcher::look_at_ends() {
  const auto now = control_.suspects();
  for (std::size_t i = 0; i < now.size(); ++i) {
    for (std::size_t bucket = 0; bucket < wire::watch_age_buckets; ++bucket) {
      const std::uint32_t before = i < suspects_.size() ? suspects_[i].freed_ages[bucket] : 0;
      const std::uint32_t more = now[i].freed_ages[bucket] - before;
      if (more != 0 && more < UINT32_MAX / 2)
        hunt_.see_ended(now[i].account, 0.75e-3 * std::exp2(static_cast<double>(bucket)), more);
    }
  }
  suspects_ = now;
}

// A record, the page table, the record again: what has not changed in between was asked about as it is.
bool watcher::look_at_slots(double now_s) {
  answer_ = control_.answer();
  const auto before = control_.slots();
  const auto present = pages_.present(answer_.base, answer_.slot_count);
  // Asked afterwards: PAGEMAP_SCAN finds all pages of a process that has ended absent.
  if ((present.empty() && answer_.slot_count != 0) || !pages_.can_be_asked()) return false;
  slots_ = control_.slots();
  const present_slots pages(answer_.base, present);
  hunt_.see_slots(now_s, views_of(before, &pages));
  return true;
}

// Without pages, nothing was touched since the last look.
std::vector<slot_view> watcher::views_of(const std::vector<collect::watched_slot>& before, const present_slots* pages) {
  std::vector<slot_view> views;
  left_alone_.clear();
  auto earlier = before.begin();
  for (const auto& [index, slot] : slots_) {
    const bool is_apart = slot.state == wire::watch_slot_state::apart;
    if (slot.state != wire::watch_slot_state::live && !is_apart) continue;
    if (earlier_ == earlier_blocks::left_alone && slot.born_ns < began_ns_) {
      left_alone_[slot.account] += is_apart ? 0 : 1;
      continue;
    }
    while (earlier != before.end() && earlier->index < index) ++earlier;
    const bool same = earlier != before.end() && earlier->index == index && earlier->record.serial == slot.serial &&
                      earlier->record.state == slot.state && earlier->record.armed_ns == slot.armed_ns;
    slot_view view;
    view.slot = index;
    view.serial = slot.serial;
    view.account = slot.account;
    view.bytes = slot.bytes;
    view.inclusion = collect::chance_of(slot.chance);
    view.born_s = seconds(slot.born_ns);
    view.is_apart = is_apart;
    view.page.armed = slot.armed_ns != 0;
    view.page.armed_s = seconds(slot.armed_ns);
    // Armed in between: the next look will know.
    view.page.touched = pages != nullptr && same && view.page.armed && pages->has(slot, index);
    views.push_back(view);
  }
  return views;
}

void watcher::ask() {
  for (const auto& change : hunt_.take_rates()) {
    const auto taken = left_alone_.find(change.account);
    if (change.chance > 0)
      control_.suspect(change.account, change.chance,
                       options_.per_stack + (taken == left_alone_.end() ? 0 : taken->second), change.inclusion);
    else
      control_.acquit(change.account);
  }
  std::vector<wire::watch_arm> batch;
  for (const auto& each : hunt_.take_armings()) batch.push_back({each.slot, each.serial});
  std::sort(batch.begin(), batch.end(), [](const auto& a, const auto& b) { return a.slot < b.slot; });
  control_.arm(batch);  // what it cannot take now, the next look asks for again
}

// For `heapledger top` and whoever else looks at the segment.
void watcher::tell(std::uint64_t now_ns) {
  telling_due_ns_ = now_ns + telling_pause_ns;
  std::unordered_set<std::uint32_t> named;
  for (const auto& found : hunt_.findings(seconds(now_ns))) {
    control_.conclude(found.account,
                      {.verdict = word_of(found.says),
                       .lost_bytes = static_cast<std::uint64_t>(whole_number(found.lost.bytes.value)),
                       .lost_bytes_per_hour = static_cast<std::uint64_t>(whole_number(found.bytes_per_hour.value))});
    named.insert(found.account);
  }
  for (const auto account : told_)
    if (named.count(account) == 0) control_.conclude(account, {});
  told_ = std::move(named);
}

leak_info watcher::found() const {
  leak_info result;
  result.since_realtime_ns = began_realtime_ns_;
  result.duration_ns = began_ns_ == 0 ? 0 : static_cast<std::int64_t>(last_ns_ - began_ns_);
  result.watched = hunt_.watched();
  result.acquitted = hunt_.acquitted();
  result.taken_back = hunt_.taken_back();
  result.obstacle = obstacle_words(answer_.obstacle);
  const auto is_freed = [&](std::uint32_t account) {
    return std::any_of(freed_at_end_.begin(), freed_at_end_.end(),
                       [&](const finding& freed) { return freed.account == account; });
  };
  for (const auto& found : hunt_.findings(seconds(last_ns_))) {
    if (is_freed(found.account)) continue;
    auto entry = to_entry(found);
    const auto witness = testimonies_.find(found.account);
    if (found.says == verdict::leak && witness != testimonies_.end())
      entry.witnesses.emplace_back(witness->second.unreachable >= witness->second.reachable ? "unreachable"
                                                                                            : "reachable");
    result.entries.push_back(std::move(entry));
  }
  for (const auto& found : freed_at_end_) result.entries.push_back(to_freed_entry(found));
  const auto lose = [&](const char* name, std::uint64_t count) {
    if (count != 0) result.losses[name] = count;
  };
  lose("refused_most", answer_.refused_most);
  lose("refused_room", answer_.refused_room);
  lose("set_apart", answer_.set_apart);
  lose("failed_arms", answer_.failed_arms);
  result.reachability = witness_;
  return result;
}

std::vector<watcher::stale_block> watcher::stale_blocks() const {
  std::vector<stale_block> result;
  for (const auto& found : hunt_.findings(seconds(last_ns_))) {
    if (found.says != verdict::leak) continue;
    for (const auto& [key, block] : hunt_.of(found.account)->blocks()) {
      const auto slot = static_cast<std::uint32_t>(key >> 32);
      if (block.now != phase::leak) continue;
      const auto at = std::lower_bound(slots_.begin(), slots_.end(), slot,
                                       [](const auto& each, std::uint32_t index) { return each.index < index; });
      if (at == slots_.end() || at->index != slot) continue;
      result.push_back({found.account, at->record.address, at->record.bytes});
    }
  }
  return result;
}

void watcher::set_witness(const reachability_info& result, const std::vector<bool>& unreachable,
                          const std::vector<stale_block>& blocks) {
  witness_ = result;
  testimonies_.clear();
  for (std::size_t i = 0; i < blocks.size() && i < unreachable.size(); ++i) {
    auto& said = testimonies_[blocks[i].account];
    ++(unreachable[i] ? said.unreachable : said.reachable);
  }
}

}  // namespace heapledger::leaks

#include "tool/leaks/hunt.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace heapledger::leaks {
namespace {

constexpr double windows_until_suspicious = 4;
constexpr double least_share_of_time = 1.0 / 64;
// Not by the processor time that the program uses: of what a server does now and then, few allocations leak, and it
// would wait for their samples for minutes. It ends by itself: some 30 blocks of a stack are watched, and a few freed
// acquit it.
constexpr double placed_per_s_in_all = 2000;
constexpr double placed_per_s_each = 500;
constexpr double worth_telling = 0.25;  // a smaller change of a chance is not handed out

std::uint64_t key_of(std::uint32_t slot, std::uint32_t serial) {
  return std::uint64_t{slot} << 32 | serial;
}

}  // namespace

exact_counts& hunt::known(std::uint32_t account) {
  auto& of_kind = known_[(account & pool_account) != 0 ? 1 : 0];
  const std::size_t index = account & ~pool_account;
  if (of_kind.size() <= index) of_kind.resize(index + 1);
  return of_kind[index];
}

exact_counts hunt::known_of(std::uint32_t account) const {
  const auto& of_kind = known_[(account & pool_account) != 0 ? 1 : 0];
  const std::size_t index = account & ~pool_account;
  return index < of_kind.size() ? of_kind[index] : exact_counts{};
}

study& hunt::study_of(std::uint32_t account, double now_s) {
  const auto found = studies_.find(account);
  if (found != studies_.end()) return found->second;
  const double window_s = options_.suspicious_s.value_or(hunt_options::first_suspicious_s) / windows_until_suspicious;
  return studies_.try_emplace(account, now_s, window_s, known_of(account)).first->second;
}

void hunt::see_counts(double now_s, std::span<const account_counts> all) {
  const bool first_look = last_s_ < 0;
  double activity = 0;
  for (const auto& entry : all) activity += static_cast<double>(entry.counts.allocations);
  for (const auto& entry : all) {
    auto& known = this->known(entry.account);
    const auto found = studies_.find(entry.account);
    const bool changed = known != entry.counts;
    // A stack that nothing happens to is not looked at, and one that never held anything has no study.
    if (!first_look && (found != studies_.end() || changed)) {
      if (found == studies_.end() && entry.counts.live_blocks <= known.live_blocks) {
        known = entry.counts;
        continue;
      }
      auto& own = study_of(entry.account, last_s_);
      if (changed && own.is_suspect()) {
        // What has grown may be what was allocated before the last look, where there was as much to free then.
        const auto& sampled = plans_[entry.account];
        own.grew(entry.counts.live_blocks - known.live_blocks, std::min(sampled.chance(), sampled.chance_before));
      }
      if (changed || own.is_suspect() || own.living() != 0) own.counts().observe(now_s, activity, entry.counts);
    }
    known = entry.counts;
  }
  last_s_ = now_s;
}

void hunt::see_ended(std::uint32_t account, double lifetime_s, std::uint32_t times) {
  study_of(account, last_s_).ended(lifetime_s, times);
}

void hunt::see_slots(double now_s, std::span<const slot_view> slots) {
  ++looks_;
  std::vector<wanted_arming> wanted;
  for (const auto& slot : slots) {
    const auto key = key_of(slot.slot, slot.serial);
    auto& own = study_of(slot.account, last_s_);
    auto& at = places_[slot.slot];
    if (at.look == 0 || at.serial != slot.serial) {
      if (at.look != 0) study_of(at.account, last_s_).gone(key_of(slot.slot, at.serial));
      own.arrived(key, {.account = slot.account,
                        .bytes = slot.bytes,
                        .inclusion = std::max(slot.inclusion, 1e-9),
                        .born_s = slot.born_s});
    }
    at = {slot.serial, slot.account, looks_};
    if (slot.is_apart) {
      own.lost_sight(key);
      continue;
    }
    if (const auto since_s = own.seen(key, slot.page, now_s)) wanted.push_back({*since_s, {slot.slot, slot.serial}});
  }
  choose_armings(std::move(wanted), now_s);
  std::erase_if(places_, [&](const auto& entry) {
    const auto& [slot, at] = entry;
    if (at.look == looks_) return false;
    study_of(at.account, last_s_).gone(key_of(slot, at.serial));
    return true;
  });
  for (auto& [account, own] : studies_) {
    const bool was_suspect = own.is_suspect();
    own.judge(options_, now_s);
    acquitted_ += was_suspect && own.is_acquitted(now_s) ? 1 : 0;
  }
  choose_rates(now_s);
}

// Those that wait longest. What is left over is asked for again at the next look.
void hunt::choose_armings(std::vector<wanted_arming> wanted, double now_s) {
  const auto count = may_arm_.take(wanted.size(), options_.spend.armed_per_s * usage_.processors(), now_s);
  const auto middle = wanted.begin() + static_cast<std::ptrdiff_t>(count);
  if (count < wanted.size())
    std::nth_element(wanted.begin(), middle, wanted.end(),
                     [](const auto& a, const auto& b) { return a.since_s < b.since_s; });
  armings_.clear();
  std::transform(wanted.begin(), middle, std::back_inserter(armings_), [](const auto& each) { return each.slot; });
}

void hunt::choose_rates(double now_s) {
  const double free_places = static_cast<double>(options_.in_all) - static_cast<double>(places_.size());
  std::vector<double> rates;
  for (const auto& [account, own] : studies_)
    if (own.is_suspect()) rates.push_back(own.counts().allocations_per_s());
  const double placed_per_s =
      std::min(placed_per_s_each, placed_per_s_in_all / static_cast<double>(std::max<std::size_t>(1, rates.size())));
  const double offered_per_s = offered_per_s_each(rates, options_.spend.offers_per_s * usage_.processors());
  for (const auto& [account, own] : studies_) {
    const double inclusion = own.chance(options_, free_places, placed_per_s, now_s);
    const double share = std::min(1.0, offered_per_s / std::max(own.counts().allocations_per_s(), 1e-6));
    follow(account, plans_[account], inclusion, std::clamp(share, std::max(inclusion, least_share_of_time), 1.0));
  }
}

void hunt::follow(std::uint32_t account, plan& own, double inclusion, double share_of_time) {
  const auto differs = [](double now, double told) {
    return now != told && !(now > 0 && told > 0 && std::abs(now - told) < worth_telling * told);
  };
  const bool is_new = differs(inclusion, own.inclusion) || differs(share_of_time, own.share_of_time);
  own.chance_before = own.chance();
  if (is_new) {
    own.inclusion = inclusion;
    own.share_of_time = share_of_time;
  }
  const bool offer =
      own.inclusion > 0 && (own.share_of_time == 1 || std::uniform_real_distribution<>()(coin_) < own.share_of_time);
  if (offer == own.offered && !(offer && is_new)) return;
  own.offered = offer;
  rates_.push_back({account, own.chance(), own.inclusion});
}

std::vector<finding> hunt::findings(double now_s) const {
  std::vector<finding> result;
  for (const auto& [account, own] : studies_) {
    if (!own.is_suspect() && own.living() == 0) continue;
    auto found = own.conclude(now_s);
    found.account = account;
    if (found.says != verdict::none) result.push_back(found);
  }
  std::sort(result.begin(), result.end(), [](const finding& a, const finding& b) {
    if (a.says != b.says) return a.says > b.says;
    if (a.lost.bytes.value != b.lost.bytes.value) return a.lost.bytes.value > b.lost.bytes.value;
    return a.account < b.account;
  });
  return result;
}

std::uint64_t hunt::taken_back() const {
  std::uint64_t sum = 0;
  for (const auto& [account, own] : studies_) sum += own.taken_back();
  return sum;
}

const study* hunt::of(std::uint32_t account) const {
  const auto found = studies_.find(account);
  return found == studies_.end() ? nullptr : &found->second;
}

}  // namespace heapledger::leaks

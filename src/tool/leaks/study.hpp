// What the hunt knows of one stack: its exact growth, what became of its watched blocks, and what follows from both.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "tool/leaks/block.hpp"
#include "tool/leaks/estimate.hpp"
#include "tool/leaks/growth.hpp"
#include "tool/leaks/options.hpp"
#include "tool/leaks/survival.hpp"

namespace heapledger::leaks {

enum class verdict : std::uint8_t { none, suspect, retention, leak };

struct finding {
  std::uint32_t account = 0;
  verdict says = verdict::none;
  loss_estimate lost;  // of retention and suspects: what has grown
  amount bytes_per_hour;
  double oldest_s = 0;        // age of the oldest watched block that counts
  std::uint64_t sampled = 0;  // living watched blocks that could be decided
  std::uint64_t lost_samples = 0;
  std::uint64_t least_bytes = 0;  // sizes of the blocks that count
  std::uint64_t most_bytes = 0;
  bool growth_stopped = false;
};

class study {
 public:
  study(double now_s, double window_s, const exact_counts& first) : growth_(now_s, window_s, first) {}

  growth& counts() { return growth_; }
  const growth& counts() const { return growth_; }

  bool is_suspect() const { return suspect_since_s_ >= 0; }
  bool is_acquitted(double now_s) const { return now_s < acquitted_until_s_; }
  const deadlines& limits() const { return limits_; }
  std::size_t living() const { return living_.size(); }
  std::uint64_t taken_back() const { return taken_back_; }

  // It has grown by so many blocks while each allocation was watched with this chance.
  void grew(std::int64_t blocks, double chance);
  void ended(double lifetime_s, std::uint32_t times);
  void arrived(std::uint64_t key, const block& watched);
  // Returns since when it waits to be armed, if it does.
  std::optional<double> seen(std::uint64_t key, const page_view& page, double now_s);
  void gone(std::uint64_t key);        // freed
  void lost_sight(std::uint64_t key);  // nothing more will be known of it
  const std::map<std::uint64_t, block>& blocks() const { return living_; }

  // Suspicion, acquittal and deadlines, once a look.
  void judge(const hunt_options& options, double now_s);
  // The chance with which its next allocations are to be watched.
  double chance(const hunt_options& options, double free_places, double most_per_s, double now_s) const;

  finding conclude(double now_s) const;

 private:
  survival lifetimes(double now_s) const;
  survival gaps(double now_s) const;
  bool is_lost(const block& watched, double now_s) const;
  std::uint64_t leaks(double now_s) const;
  void acquit(const hunt_options& options, double now_s);

  growth growth_;
  survival ended_lifetimes_;
  survival ended_gaps_;
  std::map<std::uint64_t, block> living_;
  deadlines limits_{hunt_options::first_suspicious_s, hunt_options::first_access_s, hunt_options::first_rest_s};
  double suspect_since_s_ = -1;
  double acquitted_until_s_ = -1;
  std::uint64_t freed_ = 0;      // watched blocks, since the stack became suspect
  double grown_into_watch_ = 0;  // of the blocks by which it has grown since then, so many should be watched
  double proven_since_s_ = -1;
  std::uint64_t taken_back_ = 0;
};

}  // namespace heapledger::leaks

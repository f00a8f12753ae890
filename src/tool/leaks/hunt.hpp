// The hunt for leaks in one process, without a clock, a process or a file: it is told what is seen, and says what to
// do.
//
// Every look: the exact counters of all accounts, then the slots in use. It makes stacks suspect, decides with which
// chance their next allocations are watched and which blocks are armed, and tells at any time what it has found. All it
// remembers can be learned again from the segment: a hunt that is begun anew goes on with the slots that there are.
#pragma once

#include <cstdint>
#include <random>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tool/leaks/study.hpp"

namespace heapledger::leaks {

// An account's number, or pool_account | that of a place that takes chunks from pools.
inline constexpr std::uint32_t pool_account = std::uint32_t{1} << 31;

struct account_counts {
  std::uint32_t account = 0;
  exact_counts counts;
};

struct slot_view {
  std::uint32_t slot = 0;
  std::uint32_t serial = 0;  // another use of the slot has another
  std::uint32_t account = 0;
  std::uint64_t bytes = 0;
  double inclusion = 1;
  double born_s = 0;
  page_view page;
  bool is_apart = false;  // it lives on, but can be asked no more
};

struct rate_change {
  std::uint32_t account = 0;
  double chance = 0;     // 0: its allocations are not offered
  double inclusion = 0;  // the chance at any time: `chance` times the share of the time in which they are
};

struct arming {
  std::uint32_t slot = 0;
  std::uint32_t serial = 0;
};

class hunt {
 public:
  // What lives at the first look is none of the hunt's business.
  explicit hunt(const hunt_options& options) : options_(options) {}

  // What the watch may cost goes by what the program uses; unknown, it is taken to use one processor.
  void see_usage(double now_s, double processor_s) { usage_.see(now_s, processor_s); }
  void see_counts(double now_s, std::span<const account_counts> all);
  // Watched blocks that were freed after so long: also those that came and went between two looks.
  void see_ended(std::uint32_t account, double lifetime_s, std::uint32_t times);
  // Every slot that holds a block now. What was there and is not any more has been freed.
  void see_slots(double now_s, std::span<const slot_view> slots);

  // What is to be done after a look.
  std::vector<rate_change> take_rates() { return std::exchange(rates_, {}); }
  std::vector<arming> take_armings() { return std::exchange(armings_, {}); }

  std::vector<finding> findings(double now_s) const;  // leaks by bytes, then retention, then suspects
  std::uint64_t acquitted() const { return acquitted_; }
  std::uint64_t watched() const { return places_.size(); }
  std::uint64_t taken_back() const;
  const study* of(std::uint32_t account) const;

 private:
  struct place {
    std::uint32_t serial = 0;
    std::uint32_t account = 0;
    std::uint64_t look = 0;
  };

  struct wanted_arming {
    double since_s = 0;
    arming slot;
  };
  // How a stack is sampled: part of the time, if need be, and then with a chance that makes up for it. Kept until
  // another would be quite different, so that what is recorded with a block was true.
  struct plan {
    double inclusion = 0;
    double share_of_time = 1;
    bool offered = false;
    double chance_before = 0;  // until the last look
    double chance() const { return offered ? inclusion / share_of_time : 0; }
  };

  study& study_of(std::uint32_t account, double now_s);
  void choose_armings(std::vector<wanted_arming> wanted, double now_s);
  void choose_rates(double now_s);
  void follow(std::uint32_t account, plan& own, double inclusion, double share_of_time);

  hunt_options options_;
  double last_s_ = -1;  // before the first look
  std::uint64_t looks_ = 0;
  exact_counts& known(std::uint32_t account);
  exact_counts known_of(std::uint32_t account) const;  // of any number: nothing, where it is none
  std::vector<exact_counts> known_[2];                 // by account, and by pool site, as last seen
  std::unordered_map<std::uint32_t, study> studies_;
  std::unordered_map<std::uint32_t, place> places_;  // by slot
  std::unordered_map<std::uint32_t, plan> plans_;
  usage usage_;
  allowance may_arm_;
  std::minstd_rand coin_;
  std::vector<rate_change> rates_;
  std::vector<arming> armings_;
  std::uint64_t acquitted_ = 0;
};

}  // namespace heapledger::leaks

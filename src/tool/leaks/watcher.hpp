// The hunt in a real process: looks at its segment and its page table, and hands the hunt's wishes to the probe. It
// never waits for the process, and may be killed at any moment: the probe then stops to watch when the lease has
// passed, and another watcher goes on with what it finds.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tool/collect/watch_control.hpp"
#include "tool/collect/watch_pages.hpp"
#include "tool/leaks/hunt.hpp"
#include "tool/leaks/present_slots.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::leaks {

// Blocks that an earlier watch put into slots: a watch that goes on with that one takes them up, one that was begun by
// a start signal has nothing to do with them.
enum class earlier_blocks { taken_up, left_alone };

class watcher {
 public:
  // Throws input_error. The watch begins at the first look after `begin_ns` (CLOCK_MONOTONIC): what lives then is not
  // its business. 0: it begins with the process.
  watcher(const std::string& segment, collect::links how, pid_t pid, const hunt_options& options,
          std::uint64_t begin_ns, earlier_blocks earlier = earlier_blocks::taken_up);

  // A look, if one is due. False: the process cannot be looked at any more.
  bool look(std::uint64_t now_ns);
  std::uint64_t due_ns() const { return due_ns_; }
  // Placing and arming end now; what is watched stays where it is. Another may watch the process afterwards.
  void stop() {
    control_.stop();
    control_.release();
  }

  // The process has ended: what it allocated and freed since the last look. A leak of which it has freed all that was
  // watched is none: it was kept, and is told apart from what is lost.
  void look_at_end();

  // What was found so far; stacks are accounts.
  leak_info found() const;

  const collect::segment_file& segment() const { return control_.segment(); }
  const wire::watch_answer& answer() const { return answer_; }
  pid_t pid() const { return pid_; }

  // Of every watched block that is a leak by its staleness.
  struct stale_block {
    std::uint32_t account = 0;
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
  };
  std::vector<stale_block> stale_blocks() const;
  std::vector<collect::watched_slot> slots_now() const { return control_.slots(); }
  void set_witness(const reachability_info& result, const std::vector<bool>& unreachable,
                   const std::vector<stale_block>& blocks);

 private:
  std::vector<account_counts> read_counts() const;
  void look_at_ends();
  bool look_at_slots(double now_s);
  std::vector<slot_view> views_of(const std::vector<collect::watched_slot>& before, const present_slots* pages);
  void ask();
  void tell(std::uint64_t now_ns);

  pid_t pid_;
  collect::watch_control control_;
  collect::watch_pages pages_;
  hunt_options options_;
  hunt hunt_;
  std::uint64_t begin_ns_;
  earlier_blocks earlier_;
  std::unordered_map<std::uint32_t, std::uint32_t> left_alone_;  // slots that earlier blocks hold, by account
  std::uint64_t began_ns_ = 0;
  std::uint64_t last_ns_ = 0;
  std::uint64_t due_ns_ = 0;
  std::uint64_t telling_due_ns_ = 0;
  std::unordered_set<std::uint32_t> told_;  // accounts of which the segment says something
  std::int64_t began_realtime_ns_ = 0;
  wire::watch_answer answer_{};
  std::vector<collect::watched_slot> slots_;
  std::vector<wire::watch_suspect> suspects_;
  std::vector<finding> freed_at_end_;
  std::optional<reachability_info> witness_;
  struct testimony {
    std::uint64_t unreachable = 0;
    std::uint64_t reachable = 0;
  };
  std::unordered_map<std::uint32_t, testimony> testimonies_;  // by account
};

}  // namespace heapledger::leaks

// What the watch's parts share: its lock, and the request that is in force.
#pragma once

#include "probe/base/attributes.hpp"

#include "probe/watch/arena.hpp"

namespace heapledger::probe {

struct watch_order {
  bool on = false;
  std::uint64_t lease_ns = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t most_each_bytes = 0;
  std::uint32_t most_blocks = 0;
  std::uint32_t suspect_count = 0;
};

HL_INTERNAL extern std::uint32_t watch_lock;
HL_INTERNAL extern watch_order watch_in_force;

void stop_watch();  // with the lock held: nobody has moved the lease on

// Forks in progress; while there is one, no watch starts. `watch_started`: forks take the lock.
HL_INTERNAL extern std::uint32_t watch_forks;
HL_INTERNAL extern std::uint32_t watch_started;
HL_INTERNAL extern bool watch_survives_forks;

}  // namespace heapledger::probe

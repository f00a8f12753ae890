// What events off the fast path look at for the leak watch (watch/): whether the tool asks for something, and whether
// an account is a suspect. Nothing on the fast path looks at either: a suspect's events do not come that way, because
// no thread remembers a suspect among its recent accounts.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

struct watch_view {
  std::uint32_t seen;        // of the tool's requests; another value while one is being worked on
  std::uint32_t mark_count;  // 0: no watch
};
HL_INTERNAL extern watch_view watching;

HL_COLD void heed_watch();

// Anywhere in an event, but not with a lock held.
HL_HOT void look_at_watch() {
  const std::uint32_t& asked = segment.header->watch_asked.sequence;
  if (HL_UNLIKELY(__atomic_load_n(&asked, __ATOMIC_ACQUIRE) != watching.seen)) heed_watch();
}

HL_HOT bool is_suspect(std::uint32_t account) {
  return HL_UNLIKELY(account < watching.mark_count) &&
         __atomic_load_n(&segment.watch_marks[account], __ATOMIC_RELAXED) != 0;
}

// Every thread's memory of which account is its own and no suspect.
HL_COLD void forget_recent_accounts();

}  // namespace heapledger::probe

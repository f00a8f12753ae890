// What the leak watch found, ready to be shown: entries named by the profile's stacks, known leaks left out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/cli/commands.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/leaks/suppressions.hpp"
#include "tool/leaks/watcher.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::cli {

// The watch names accounts; a profile has one stack for all accounts of a kind of scope and a place.
void name_by_stacks(leak_info& found, const collect::segment_copy& segment, const profile& p);

// The profile of the moment, with symbols, of the stacks that were found.
profile profile_of(const leaks::watcher& watch, const leaks::hunt_options& options, const debug_options& debug);

// What a watch that found no leak is worth.
enum class no_leak {
  told,      // it saw for long enough that there is none, or blocks that it watched
  harmless,  // it was short, but nothing of what lives can be a leak
  untold,    // nothing was watched, and the obstacle says why
};
// Gives a watch that was too short to tell its obstacle.
no_leak worth_of(leak_info& found, const profile& of, const leaks::hunt_options& options);
// The same of a profile that was written: what kept the watch from telling, as the end of a sentence; empty: nothing
// did.
std::string untold_because(const leak_info& found);

struct shown_leaks {
  std::vector<leak_entry> entries;
  std::uint64_t suppressed = 0;
  std::size_t leaks = 0;  // of the entries
  std::int64_t leaked_bytes = 0;
  std::int64_t freed_bytes = 0;  // that grew untouched, until the program freed them to end
  std::size_t undecided = 0;     // that grow, and may leak
  std::int64_t undecided_bytes = 0;
};

// Suppressions are about leaks and suspects alike.
shown_leaks without_suppressed(const profile& p, const std::vector<leaks::suppressions>& known);

std::vector<leaks::suppressions> read_suppressions(const std::vector<std::string>& files);

}  // namespace heapledger::cli

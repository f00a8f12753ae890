// What the hunt found, as a profile keeps it.
#pragma once

#include <cstdint>

#include "tool/leaks/study.hpp"
#include "tool/profile/profile.hpp"
#include "wire/watch.hpp"

namespace heapledger::leaks {

// Rounded, and within what an integer holds; sizes within what the reader of a profile takes.
std::int64_t whole_number(double value);
inline constexpr std::int64_t most_bytes = std::int64_t{1} << 58;
std::int64_t whole_bytes(double value);

leak_entry to_entry(const finding& found);
leak_entry to_freed_entry(const finding& found);  // looked lost, until the program freed it to end

// Then that no leak was found says nothing of what might leak.
bool watched_nothing(const leak_info& found);

bool was_freed_at_end(const leak_entry& entry);

// Why no block can be watched, for people; empty where one can.
const char* obstacle_words(wire::watch_obstacle obstacle);

}  // namespace heapledger::leaks

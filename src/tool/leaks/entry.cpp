#include "tool/leaks/entry.hpp"

#include <algorithm>
#include <cmath>

namespace heapledger::leaks {
namespace {

const char* name_of(verdict says) {
  switch (says) {
    case verdict::leak:
      return "leak";
    case verdict::retention:
      return "retention";
    case verdict::suspect:
    case verdict::none:
      break;
  }
  return "suspect";
}

}  // namespace

std::int64_t whole_number(double value) {
  return static_cast<std::int64_t>(std::llround(std::clamp(value, 0.0, 4e18)));
}

std::int64_t whole_bytes(double value) {
  return std::min(whole_number(value), most_bytes);
}

leak_entry to_entry(const finding& found) {
  leak_entry entry;
  entry.stack = found.account;
  entry.verdict = name_of(found.says);
  if (found.says == verdict::leak) entry.witnesses.emplace_back("stale");
  entry.bytes = whole_bytes(found.lost.bytes.value);
  entry.bytes_low = whole_bytes(std::floor(found.lost.bytes.low));
  entry.bytes_high = whole_bytes(std::ceil(found.lost.bytes.high));
  entry.bytes_per_hour = whole_bytes(found.bytes_per_hour.value);
  entry.bytes_per_hour_low = whole_bytes(found.bytes_per_hour.low);
  entry.bytes_per_hour_high = whole_bytes(found.bytes_per_hour.high);
  entry.blocks = static_cast<std::uint64_t>(whole_number(found.lost.blocks.value));
  entry.oldest_age_ns = whole_number(found.oldest_s * 1e9);
  entry.sampled = found.sampled;
  entry.untouched = found.lost_samples;
  entry.least_bytes = found.least_bytes;
  entry.most_bytes = found.most_bytes;
  entry.growth_stopped = found.growth_stopped;
  return entry;
}

leak_entry to_freed_entry(const finding& found) {
  auto entry = to_entry(found);
  entry.verdict = name_of(verdict::retention);
  entry.witnesses = {"freed"};
  return entry;
}

bool was_freed_at_end(const leak_entry& entry) {
  return std::find(entry.witnesses.begin(), entry.witnesses.end(), "freed") != entry.witnesses.end();
}

bool watched_nothing(const leak_info& found) {
  const auto is_undecided = [](const leak_entry& entry) {
    return entry.verdict == name_of(verdict::suspect) && entry.sampled == 0;
  };
  return found.watched == 0 && found.acquitted == 0 && found.taken_back == 0 &&
         std::all_of(found.entries.begin(), found.entries.end(), is_undecided);
}

const char* obstacle_words(wire::watch_obstacle obstacle) {
  switch (obstacle) {
    case wire::watch_obstacle::none:
    case wire::watch_obstacle::count:
      return "";
    case wire::watch_obstacle::no_memfd:
      return "No block can be watched: the program may not make a memfd. Only growth is known.";
    case wire::watch_obstacle::no_address_room:
      return "No block can be watched: a limit on the program's address space or files leaves no room (ulimit -v, "
             "ulimit -f). Only growth is known.";
    case wire::watch_obstacle::no_arming:
      return "No block can be watched: this kernel does not let pages be armed. Only growth is known.";
    case wire::watch_obstacle::no_fork_handler:
      return "No block can be watched: the C library gave no fork handler, and a fork could share them. Only growth is "
             "known.";
  }
  return "";
}

}  // namespace heapledger::leaks

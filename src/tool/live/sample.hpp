// What the live view shows at one moment: numbers only. Names come later, and only for what is on the screen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::live {

// Since the sample before.
struct per_second {
  double live_bytes = 0;
  double allocations = 0;
};

// What a leak watch says of a stack (live/leak_marks.hpp).
enum class leak_verdict : std::uint8_t { suspect, retention, leak };
struct leak_mark {
  leak_verdict says = leak_verdict::suspect;
  std::uint64_t bytes = 0;  // lost; of retention and suspects: grown
  std::uint64_t bytes_per_hour = 0;
};
struct leak_totals {
  std::uint64_t places = 0;
  std::uint64_t bytes = 0;
  std::uint64_t bytes_per_hour = 0;
};

// Of a row that is a pool: what it holds from the system.
struct pool_memory {
  std::uint64_t chunk_bytes = 0;
  std::uint64_t pages = 0;
  std::uint64_t page_bytes = 0;
  std::uint64_t open = 0;  // pools of that name and chunk size
};

// Of a row that is a place where the program maps memory itself. What is resident is looked at seldom, and from
// outside.
struct mapped_memory {
  std::uint64_t ranges = 0;
  std::optional<std::int64_t> resident_bytes = {};
  std::optional<std::int64_t> most_resident_bytes = {};
};

struct row {
  std::uint32_t id = 0;  // of a stack, a thread (its record), a kind of scope: stable while the program runs
  std::string name;      // of a thread or a scope, or the kind of what is mapped; a stack has frames instead
  counters count;        // a thread's live bytes are what it allocated minus what it freed; it has no peak
  per_second rate;
  std::optional<leak_mark> leak = {};
  pool_memory pool = {};
  mapped_memory mapped = {};
};

enum class watched { running, ended, other_image };

struct sample {
  std::int64_t time_ns = 0;  // since the program's start
  watched state = watched::running;
  counters totals;
  std::optional<per_second> rate;  // of the totals; nothing in the first sample: then no row has any
  std::optional<std::int64_t> rss_bytes;
  std::vector<row> stacks;
  std::vector<row> threads;
  leak_totals leaks;
  std::vector<row> scopes;  // with what is below each; the first is what no scope made; empty: no scopes
  std::vector<row> pools;   // bytes are those of chunks in use, and the peak is the memory of the largest one
  std::vector<row> mapped;  // by stacks; see live/mapped.hpp
  std::optional<std::int64_t> mapped_resident_bytes;
};

enum class order { live, growth, churn, peak, leaks };
enum class subject { stack, thread, scope, pool, mapping };  // an index into views(), see view.hpp

inline constexpr const char* order_names[] = {"live", "growth", "churn", "peak", "leaks"};

// Indices of the first `top` rows with something in them, largest first, equal ones by id.
std::vector<std::uint32_t> ranked(const std::vector<row>& rows, order by, std::size_t top);

}  // namespace heapledger::live

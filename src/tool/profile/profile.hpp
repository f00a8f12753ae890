// A profile in memory: what the collector makes from a segment, the symbolizer completes, the file keeps,
// and every report reads. Plain data; indices instead of pointers, so that it can be written and checked as it is.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace heapledger {

enum class ending { exited, signaled, running, lost };

struct process_info {
  std::uint32_t pid = 0;
  std::uint32_t parent_pid = 0;
  std::string exe;
  std::vector<std::string> command;
  std::int64_t start_realtime_ns = 0;
  std::int64_t duration_ns = 0;
  ending ended = ending::lost;
  std::optional<int> exit_code;
  std::optional<int> signal;
  bool forked = false;  // its books begin at a fork
  std::string stacks;   // dwarf, fp or off
  std::uint32_t depth_limit = 0;
  std::string host;
  bool lives_timed = false;            // --lifetimes
  bool replaced = false;               // it ended by exec: the process went on as another program
  std::int64_t attached_after_ns = 0;  // its age when its books began; 0: they began with it
  bool detached = false;               // the books ended, and it went on
  bool operator==(const process_info&) const = default;
};

// A sum of times that passes 2^64 nanoseconds: ten million blocks that live for an hour each.
struct time_sum {
  std::uint64_t seconds = 0;
  std::uint32_t ns = 0;  // below 10^9

  double in_ns() const { return static_cast<double>(seconds) * 1e9 + ns; }
  time_sum& operator+=(const time_sum& other) {
    constexpr std::uint32_t second = 1'000'000'000;
    seconds += other.seconds + (ns + other.ns) / second;
    ns = (ns + other.ns) % second;
    return *this;
  }
  bool operator==(const time_sum&) const = default;
};

// How long blocks lived, where they were timed (process_info::lives_timed).
struct lives {
  std::uint64_t ended = 0;    // blocks that were freed
  time_sum lived;             // by them
  std::uint64_t unended = 0;  // blocks that were not
  time_sum born;              // their times of birth, since start

  lives& operator+=(const lives& other) {
    ended += other.ended;
    lived += other.lived;
    unended += other.unended;
    born += other.born;
    return *this;
  }
  bool operator==(const lives&) const = default;
};

// Counters of one account, or sums of them.
struct counters {
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
  std::uint64_t temporaries = 0;
  std::uint64_t reallocations = 0;
  std::int64_t peak_bytes = 0;  // live bytes at the moment of the process's peak
  lives life = {};              // of the whole run: a snapshot has none

  std::int64_t live_blocks() const { return static_cast<std::int64_t>(allocations - frees); }
  std::int64_t live_bytes() const { return static_cast<std::int64_t>(allocated_bytes - freed_bytes); }
  counters& operator+=(const counters& other) {
    allocations += other.allocations;
    allocated_bytes += other.allocated_bytes;
    frees += other.frees;
    freed_bytes += other.freed_bytes;
    temporaries += other.temporaries;
    reallocations += other.reallocations;
    peak_bytes += other.peak_bytes;
    life += other.life;
    return *this;
  }
  counters operator-(const counters& other) const {  // modulo 2^64; of lives there is no difference
    counters rest = *this;
    rest.life = {};
    rest.allocations -= other.allocations;
    rest.allocated_bytes -= other.allocated_bytes;
    rest.frees -= other.frees;
    rest.freed_bytes -= other.freed_bytes;
    rest.temporaries -= other.temporaries;
    rest.reallocations -= other.reallocations;
    rest.peak_bytes -= other.peak_bytes;
    return rest;
  }
  bool operator==(const counters&) const = default;
};

struct peak_info {
  std::uint64_t error_bytes = 0;        // the true peak is within this of the sum of counters::peak_bytes; 0: exact
  std::optional<std::int64_t> time_ns;  // since start
  bool operator==(const peak_info&) const = default;
};

struct module_info {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t bias = 0;
  std::string path;
  std::string build_id;        // lowercase hex, may be empty
  std::int64_t loaded_ns = 0;  // since start
  std::optional<std::int64_t> unloaded_ns;
  std::string symbol_advice = {};  // what to do for better symbols, one line; empty: nothing can or need be done
  bool operator==(const module_info&) const = default;
};

inline constexpr std::uint32_t none = UINT32_MAX;

// A place in code, once per distinct (module, address). `address` is in the module's own terms (what addr2line takes),
// already moved back into the call instruction where it came from a return address.
struct location {
  std::uint64_t address = 0;
  std::uint32_t module = none;         // index into modules; none: address is absolute
  std::vector<std::uint32_t> symbols;  // indices into frames, innermost inlined function first; empty: unknown
  bool lacks_rule = false;             // outermost somewhere, and known to be outside of all unwind tables
  bool operator==(const location&) const = default;
};

struct frame_info {
  std::uint32_t function = none;  // indices into strings
  std::uint32_t file = none;
  std::uint32_t line = 0;  // 0: unknown
  bool operator==(const frame_info&) const = default;
  auto operator<=>(const frame_info&) const = default;
};

// The stack tree: a stack is a node and its path to node 0, the root, which has no location.
struct stack_node {
  std::uint32_t parent = 0;  // always less than the node's own index
  std::uint32_t location = none;
  bool operator==(const stack_node&) const = default;
};

struct stack_entry {
  std::uint32_t id = 0;  // the account: stable within one process
  std::uint32_t node = 0;
  std::vector<std::string> scope;  // outermost first; empty: the whole process
  counters count;
  std::uint32_t thread = none;  // index into threads, of the only one that allocated here; none: several, or unknown
  bool operator==(const stack_entry&) const = default;
};

// All scopes of one name below one parent.
struct scope_info {
  std::vector<std::string> path;  // outermost first, never empty
  std::uint64_t opened = 0;
  std::uint64_t closed = 0;
  std::uint64_t refusals = 0;    // allocations that a budget refused
  std::uint64_t overdrafts = 0;  // and that it let through
  std::int64_t peak_bytes = 0;   // highest of any one of them, with what is below it
  // The budget of the last one opened.
  std::optional<std::int64_t> live_bytes_limit = {};
  std::optional<std::int64_t> allocated_bytes_limit = {};
  std::optional<std::int64_t> allocations_limit = {};
  bool operator==(const scope_info&) const = default;
};

// What was freed in other scopes than those that had allocated it, by the names of both. Pairs that found no room in
// the probe are together, without names.
struct freer_info {
  std::vector<std::string> owner;  // that allocated; outermost first, empty: no scope
  std::vector<std::string> by;     // in which it was freed
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
  std::uint64_t late_frees = 0;  // of these, after the scope that allocated was closed
  std::uint64_t late_bytes = 0;
  bool operator==(const freer_info&) const = default;
};

struct thread_info {
  std::uint32_t tid = 0;
  std::string name;
  std::int64_t start_ns = 0;  // since start
  std::optional<std::int64_t> end_ns;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t freed_bytes = 0;
  bool operator==(const thread_info&) const = default;
};

// What one of several threads allocated from a stack. What lives of it is not known: a free is booked to the stack.
struct thread_share {
  std::uint32_t stack = 0;   // index into stacks, of one without a thread
  std::uint32_t thread = 0;  // index into threads
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;
  std::uint64_t temporaries = 0;
  bool operator==(const thread_share&) const = default;
};

struct size_bucket {
  std::uint64_t from = 0;
  std::uint64_t to = 0;  // inclusive
  std::uint64_t allocations = 0;
  bool operator==(const size_bucket&) const = default;
};

struct lifetime_bucket {
  std::uint64_t from_ns = 0;
  std::uint64_t to_ns = 0;  // inclusive
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;
  bool operator==(const lifetime_bucket&) const = default;
};

// What one stack took from pools of one kind.
struct pool_site {
  std::uint32_t node = 0;
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;  // as asked for
  std::uint64_t frees = 0;
  std::uint64_t freed_bytes = 0;

  std::uint64_t live_bytes() const { return allocated_bytes - freed_bytes; }
  bool operator==(const pool_site&) const = default;
};

// All pools of one name and chunk size: a heap of their own, beside what the stacks tell of.
struct pool_info {
  std::string name;
  std::uint64_t chunk_bytes = 0;
  std::uint64_t opened = 0;
  std::uint64_t closed = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;            // never more than allocations
  std::uint64_t allocated_bytes = 0;  // as asked for
  std::uint64_t pages = 0;            // held
  std::uint64_t page_bytes = 0;
  std::uint64_t peak_page_bytes = 0;  // highest of any one of them
  std::uint64_t arenas = 0;
  std::vector<size_bucket> sizes = {};
  std::vector<pool_site> sites = {};  // empty where the pools keep no stacks

  std::uint64_t chunks_in_use() const { return allocations - frees; }
  bool operator==(const pool_info&) const = default;
};

// What one stack mapped itself, of one kind. Bytes are address space, in whole pages: how much of it is memory, only
// what is resident says.
struct mapped_site {
  std::uint32_t node = 0;
  std::string kind;  // anonymous, file, shared
  std::uint64_t calls = 0;
  std::uint64_t mapped_bytes = 0;
  std::uint64_t unmapped_bytes = 0;  // by whoever
  std::uint64_t ranges = 0;          // that are mapped now
  std::int64_t resident_bytes = 0;
  std::int64_t most_resident_bytes = 0;

  std::uint64_t live_bytes() const { return mapped_bytes - unmapped_bytes; }
  bool operator==(const mapped_site&) const = default;
};

// What the program mapped by mmap, beside what malloc gave: not its allocator, the loader or the C library.
struct mapped_info {
  std::uint64_t peak_bytes = 0;
  std::optional<std::int64_t> seen_ns = {};  // since start: when resident bytes were looked at last
  std::vector<mapped_site> sites;
  bool operator==(const mapped_info&) const = default;
};

struct timeline_point {
  std::int64_t time_ns = 0;  // since start
  std::int64_t live_bytes = 0;
  std::int64_t live_blocks = 0;
  std::uint64_t allocations = 0;
  std::uint64_t rss_bytes = 0;
  bool operator==(const timeline_point&) const = default;
};

// What all scopes of an outermost name held at a moment, with what is below them.
struct scope_moment {
  std::uint32_t scope = 0;   // index into scopes
  std::int64_t time_ns = 0;  // since start
  std::int64_t live_bytes = 0;
  bool operator==(const scope_moment&) const = default;
};

// What a stack held at a moment. Of each moment only the stacks that held most are known.
struct stack_moment {
  std::uint32_t stack = 0;   // index into stacks
  std::int64_t time_ns = 0;  // since start
  std::int64_t live_bytes = 0;
  bool operator==(const stack_moment&) const = default;
};

// What the resident memory consists of, at one moment. The parts add up to rss_bytes:
// live + tags + profiler + allocator + mapped + files + stacks + other. `mapped` is what the program mapped itself and
// is known by stack; `allocator` is what other anonymous memory holds beyond live blocks and tags: slack, free lists,
// headers; negative where live blocks were never touched or are swapped out.
struct memory_map {
  std::int64_t time_ns = 0;
  std::int64_t rss_bytes = 0;
  std::int64_t live_bytes = 0;
  std::int64_t tag_bytes = 0;
  std::int64_t profiler_bytes = 0;
  std::int64_t allocator_bytes = 0;
  std::int64_t file_bytes = 0;
  std::int64_t stack_bytes = 0;
  std::int64_t other_bytes = 0;
  std::int64_t mapped_bytes = 0;
  bool operator==(const memory_map&) const = default;
};

// A named moment.
struct marker_info {
  std::string name;  // never empty; not always the only one of its name
  std::int64_t time_ns = 0;
  std::int64_t live_bytes = 0;
  std::int64_t live_blocks = 0;
  std::optional<std::uint32_t> snapshot = {};  // index into snapshots
  bool operator==(const marker_info&) const = default;
};

// What the counters of a stack did since the snapshot before: add up all changes up to a snapshot, and there are its
// books. Modulo 2^64; analyse/snapshots.hpp does so.
struct stack_change {
  std::uint32_t stack = 0;  // index into stacks
  counters by;
  bool operator==(const stack_change&) const = default;
};
struct snapshot_info {
  std::vector<stack_change> changes;  // by rising stack
  bool operator==(const snapshot_info&) const = default;
};

// A profile that is the difference of two moments, or of one to the start: never in a file.
struct window_info {
  marker_info since;
  marker_info until;
  bool operator==(const window_info&) const = default;
};

struct error_entry {
  std::string kind;         // double-free, mismatch, overflow
  std::uint32_t stack = 0;  // stack_entry::id that allocated the block
  std::uint64_t count = 0;
  std::uint32_t freed_node = 0;            // index into nodes: who freed it, and so it was found; 0: not known
  std::string allocated_by{}, freed_by{};  // of a mismatch: malloc and free, new and delete, new[] and delete[]
  bool operator==(const error_entry&) const = default;
};

// A program that the process executed, or a child of it before its exec, and that keeps no books of its own.
struct uncounted_info {
  std::string path;    // its end where it is long; empty: programs that found no room in the list
  std::string reason;  // static, sanitizer, other-libc, other-machine, privileged, out-of-reach; empty: several
  std::uint64_t times = 0;
  bool operator==(const uncounted_info&) const = default;
};

struct profiler_info {
  std::uint64_t segment_bytes = 0;  // resident
  std::uint64_t private_bytes = 0;
  std::uint64_t tag_bytes = 0;  // of live blocks
  std::uint64_t accounts = 0;
  std::uint64_t nodes = 0;
  std::uint64_t inherited_freed_bytes = 0;
  std::uint64_t checked_stacks = 0;  // self-check mode
  std::uint64_t checked_differences = 0;
  std::map<std::string, std::uint64_t> losses;  // only those that are not zero
  bool operator==(const profiler_info&) const = default;
};

// What the leak watch says of one stack. Bytes are estimates with their 95 % interval; of retention and suspects, what
// has grown.
struct leak_entry {
  std::uint32_t stack = 0;             // stack_entry::id; of no account where the blocks are a pool's
  std::string verdict;                 // leak, retention or suspect
  std::vector<std::string> witnesses;  // of a leak: stale, and unreachable or reachable; else freed, by the end
  std::int64_t bytes = 0;
  std::int64_t bytes_low = 0;
  std::int64_t bytes_high = 0;
  std::int64_t bytes_per_hour = 0;
  std::int64_t bytes_per_hour_low = 0;
  std::int64_t bytes_per_hour_high = 0;
  std::uint64_t blocks = 0;
  std::int64_t oldest_age_ns = 0;  // of watched blocks
  std::uint64_t sampled = 0;       // watched blocks that could be decided
  std::uint64_t untouched = 0;     // of these
  std::uint64_t least_bytes = 0;   // sizes of watched blocks
  std::uint64_t most_bytes = 0;
  bool growth_stopped = false;
  std::optional<std::uint32_t> pool = {};  // index into pools: the blocks are chunks of these
  std::uint32_t node = 0;                  // then: where they are taken
  bool operator==(const leak_entry&) const = default;
};

// The second witness: which watched blocks nothing in the process points to.
struct reachability_info {
  std::uint64_t blocks = 0;  // that were looked for
  std::uint64_t unreachable = 0;
  std::int64_t stopped_ns = 0;  // how long the program stood still
  std::uint64_t searched_bytes = 0;
  std::string obstacle;  // why there is no answer; empty: there is one
  bool operator==(const reachability_info&) const = default;
};

struct leak_info {
  std::int64_t since_realtime_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t watched = 0;     // blocks, at the end
  std::uint64_t acquitted = 0;   // stacks
  std::uint64_t taken_back = 0;  // verdicts
  std::vector<leak_entry> entries;
  std::map<std::string, std::uint64_t> losses;
  std::optional<reachability_info> reachability;
  std::string obstacle;  // why the watch is less than was asked for; empty: it is not
  bool operator==(const leak_info&) const = default;
};

struct profile {
  process_info process;
  peak_info peak;
  std::vector<std::string> strings;
  std::vector<frame_info> frames;
  std::vector<module_info> modules;
  std::vector<location> locations;
  std::vector<stack_node> nodes;
  std::vector<stack_entry> stacks;
  std::vector<scope_info> scopes;  // parents before children
  std::vector<pool_info> pools;
  std::optional<mapped_info> mapped;
  std::vector<freer_info> freers;
  std::vector<thread_info> threads;
  std::vector<thread_share> thread_shares;  // by rising stack; together never more than the stack's counters
  std::vector<size_bucket> sizes;
  std::vector<lifetime_bucket> lifetimes;  // of blocks that were freed, where they were timed
  std::vector<timeline_point> timeline;
  std::vector<scope_moment> scope_timeline;  // scope by scope, each in the order of time; the largest
  std::vector<stack_moment> stack_timeline;  // by rising stack and time; of each moment at least one
  std::optional<memory_map> memory;          // as last seen
  std::optional<memory_map> memory_peak;     // near the peak
  std::vector<marker_info> markers;          // by rising time
  std::vector<snapshot_info> snapshots;      // in the order of their markers
  std::optional<window_info> window;         // its counters are of what happened between two moments
  std::vector<error_entry> errors;
  std::optional<leak_info> leaks;  // where the leak watch was on
  std::vector<uncounted_info> uncounted;
  profiler_info profiler;
  bool symbolized = false;

  counters totals() const {
    counters sum;
    for (const auto& stack : stacks) sum += stack.count;
    return sum;
  }
  bool operator==(const profile&) const = default;
};

}  // namespace heapledger

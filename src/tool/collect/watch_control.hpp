// The tool's hand on the leak watch of one process: writes its requests into the segment, and reads the answers,
// checked. One tool at a time. docs/leak-watch-internals.md says what the words mean.
//
// Nothing here waits for the program. What it learns it can learn again: another tool goes on where one was killed.
#pragma once

#include <fcntl.h>

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

struct watch_limits {
  std::uint32_t blocks = 50'000;
  std::uint64_t bytes = std::uint64_t{1} << 30;
  std::uint64_t each_bytes = std::uint64_t{64} << 20;
};

struct watched_slot {
  std::uint32_t index = 0;
  wire::watch_slot record{};
};

struct watch_conclusion {
  wire::watch_verdict verdict = wire::watch_verdict::none;
  std::uint64_t lost_bytes = 0;
  std::uint64_t lost_bytes_per_hour = 0;
  bool operator==(const watch_conclusion&) const = default;
};

// An account is one of malloc's, or wire::watch_pool_site | a pool site.
class watch_control {
 public:
  // Throws input_error: not a segment, not ours to write, or another tool watches this process.
  explicit watch_control(const std::string& segment_path, links how = links::followed);

  // Until `lease_ns` (CLOCK_MONOTONIC), which a later call moves on.
  void start(const watch_limits& limits, std::uint64_t lease_ns);
  void stop();
  // Others may watch the process from now on; nothing more is to be asked of it here.
  void release();

  // From now on each allocation of the account is chosen with this chance, 0 to 1; at most so many in slots at a time.
  // `inclusion`: what is recorded with a block as its chance, where the account is a suspect only part of the time.
  // False: there is no room for another suspect. Heeded after publish().
  bool suspect(std::uint32_t account, double chance, std::uint32_t most) {
    return suspect(account, chance, most, chance);
  }
  bool suspect(std::uint32_t account, double chance, std::uint32_t most, double inclusion);
  void acquit(std::uint32_t account);
  // Says of a suspect, for other tools, what is known of it now.
  void conclude(std::uint32_t account, const watch_conclusion& said);
  // False: the program has not done what it was asked last. Heeded after publish().
  bool arm(std::span<const wire::watch_arm> wanted);
  void publish();

  // Whether the program has seen all that was published.
  bool is_heeded() const;
  bool has_armed() const;

  wire::watch_answer answer() const;
  // Those of live, apart and freed blocks; indices in order.
  std::vector<watched_slot> slots() const;
  // The counters of a suspect; zeros for an account that never was one.
  wire::watch_suspect counters(std::uint32_t account) const;
  std::vector<wire::watch_suspect> suspects() const;

  const segment_file& segment() const { return segment_; }

 private:
  void write(std::uint64_t offset, const void* from, std::size_t bytes);
  template <class T>
  void write_word(std::size_t offset_in_request, T value);
  void cover_marks(std::uint32_t account);
  void mark(std::uint32_t account, std::uint32_t value);
  std::uint64_t suspect_offset(std::uint32_t index) const;
  std::uint64_t mark_offset(std::uint32_t account) const;

  segment_file segment_;
  unique_fd fd_;
  wire::watch_request asked_{};
  std::unordered_map<std::uint32_t, std::uint32_t> index_of_;  // account to suspect
  std::unordered_map<std::uint32_t, watch_conclusion> concluded_;
};

// The lock of who watches: for F_OFD_SETLK, and F_OFD_GETLK, which tells others without a try. (flock(2) cannot be
// asked, and /proc/locks leaves lines out where other locks come and go while it is read: 24 times in 4,742.)
struct flock whole_file(short type);

// A probability as `chance` says it, and back. 0 cannot be said: use `most` = 0.
std::uint32_t chance_word(double chance);
double chance_of(std::uint32_t word);

}  // namespace heapledger::collect

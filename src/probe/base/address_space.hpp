// The address space that the probe has taken, and the limits that the program sets for its own while it runs: the
// kernel is given the program's plus ours, so that the program meets them where it would without us.
//
// Usable in signal handlers and between vfork and exec; leaves errno alone. Only the program's own calls count as its
// limits: where somebody else has changed what the kernel was given, it is left as it is.
#pragma once

#include <cstdint>

namespace heapledger::probe {

// As the kernel's rlimit64.
struct limit {
  std::uint64_t soft, hard;

  friend bool operator==(const limit&, const limit&) = default;
};

// What is about to be mapped, and what no longer is. `data_bytes` of it are private and writable, which RLIMIT_DATA
// counts.
void hold(std::uint64_t bytes, std::uint64_t data_bytes);
void let_go(std::uint64_t bytes, std::uint64_t data_bytes);

// The limits are this process's: at start, and in a forked child. A child of vfork has others, but our memory.
void begin_limits();

bool is_kept(int resource);  // RLIMIT_AS, RLIMIT_DATA
// What the program wants, as the kernel is to have it; and, where the kernel took it, that it does.
limit with_ours(int resource, const limit& wanted);
void note_limit(int resource, const limit& wanted, const limit& given);
// What the kernel has, as the program is to see it.
limit without_ours(int resource, const limit& kernels);

// How much more can be held at no cost to the program's own limit of its address space; 0 where it has set none.
std::uint64_t address_space_to_spare();

// The kernel's limits are the program's for what it executes; where that fails they have ours again, if the kernel lets
// them.
class limits_for_execution {
 public:
  explicit limits_for_execution(bool is_likely);
  ~limits_for_execution();
  limits_for_execution(const limits_for_execution&) = delete;
  limits_for_execution& operator=(const limits_for_execution&) = delete;

 private:
  bool lowered_[2] = {};
  limit before_[2] = {};
};
bool has_limits();

}  // namespace heapledger::probe

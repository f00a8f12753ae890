// What a scope used, and what it may use.
#pragma once

#include <heapledger/heapledger.h>

#include <cstdint>

namespace heapledger {

inline constexpr std::uint64_t unlimited = HEAPLEDGER_UNLIMITED;

// Sizes are requested bytes.
struct usage {
  std::int64_t live_bytes = 0;
  std::int64_t live_blocks = 0;
  std::int64_t peak_bytes = 0;  // highest live_bytes with descendants, to within error_bytes
  std::uint64_t allocated_bytes = 0;
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::int64_t error_bytes = 0;  // of peak_bytes; 0 where one thread worked in the scope

  bool operator==(const usage&) const = default;
  // What came after an earlier look at the same scope; the peak stays the whole one's.
  usage since(const usage& before) const noexcept {
    return {live_bytes - before.live_bytes,
            live_blocks - before.live_blocks,
            peak_bytes,
            allocated_bytes - before.allocated_bytes,
            allocations - before.allocations,
            frees - before.frees,
            error_bytes};
  }
};

// What happens when an allocation does not fit into a budget.
enum class on_exceed {
  stop,  // the scope's stop_token is triggered; the allocation passes
  fail   // the same, and the allocation fails: malloc gives nullptr and ENOMEM, new throws budget_exceeded
};

// What a scope may use together with its descendants. Only `fail` keeps it below the limits, and then to the byte.
struct budget {
  std::uint64_t live_bytes = unlimited;       // at any moment
  std::uint64_t allocated_bytes = unlimited;  // ever
  std::uint64_t allocations = unlimited;      // ever
  on_exceed action = on_exceed::stop;
  std::uint64_t reserve_bytes = 0;  // the part of live_bytes that is kept for code which must not fail

  bool operator==(const budget&) const = default;
};

}  // namespace heapledger

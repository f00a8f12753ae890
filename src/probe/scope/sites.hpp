// What scopes of one kind and of those below it did, by stack: for the program itself, which asks when a test failed.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

inline constexpr std::size_t site_frame_limit = 32;

struct scope_site {
  std::uint32_t account;
  std::uint32_t frame_count;
  std::uint64_t allocations, allocated_bytes, frees, freed_bytes;
  std::uint64_t frames[site_frame_limit];  // return addresses, from the allocation outward
};

// Fills in at most `capacity`; returns how many stacks there are. Right while the threads of the scopes rest.
std::size_t sites_of_kind(std::uint32_t kind, scope_site* out, std::size_t capacity);

}  // namespace heapledger::probe

// The pools of a segment, as the profile tells of them: one entry for all of a name and chunk size.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// `nodes`: of each pool site its node in the profile. Numbers that no program can reach are left out.
void add_pools(const segment_copy& segment, std::span<const std::uint32_t> nodes, profile& to);

// Where add_pools puts each pool site of the segment in a profile that has no other pools; nothing where it is left
// out.
struct pool_place {
  std::uint32_t pool = 0;
  std::uint32_t site = 0;  // of that pool's
};
std::vector<std::optional<pool_place>> pool_places(const segment_copy& segment);

// The sites alone, as they are now.
std::vector<wire::pool_site> copy_pool_sites(const segment_file& file);

}  // namespace heapledger::collect

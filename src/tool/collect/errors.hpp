// The errors in a segment: whose blocks, and who freed them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// Of each error the account of the stack that allocated its blocks: 0 where no account is that stack's any more, `none`
// for what is no error.
std::vector<std::uint32_t> accounts_of_errors(const segment_copy& segment);

// Fills `errors`. `accounts` as above; `stack_ids` by account, the id of the stack that it became a part of; `nodes` of
// the profile, one for each error.
void add_errors(const segment_copy& segment, std::span<const std::uint32_t> accounts,
                std::span<const std::uint32_t> stack_ids, std::span<const std::uint32_t> nodes, profile& to);

}  // namespace heapledger::collect

// The program's errors, by kind and by the place that allocated the blocks: one mistake in the code is often made with
// blocks of many stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/analyse/machinery.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct error_place {
  std::uint64_t count = 0;
  std::vector<std::uint32_t> stacks;  // indices into profile::stacks, that with most errors first; empty: not known
};

struct error_kind {
  std::string kind;
  std::uint32_t doubt = none;  // see judged_error
  std::uint64_t count = 0;
  std::vector<error_place> places;  // that with most errors first
};

std::vector<error_kind> error_kinds(const profile& p, machinery& machinery);

}  // namespace heapledger::analyse

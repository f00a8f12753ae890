// The program's errors, by kind, for mismatches by the functions that do not go together, and by the place that
// allocated the blocks: one mistake in the code is often made with blocks of many stacks.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tool/analyse/machinery.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct counted_index {
  std::uint32_t index;
  std::uint64_t count;
};

struct error_place {
  std::uint64_t count = 0;
  std::vector<counted_index> stacks;  // in profile::stacks, that with most errors first; empty: not known
  std::vector<counted_index> freers;  // in profile::nodes: the stacks that freed them, in the same order
};

struct error_kind {
  std::string kind;
  std::string allocated_by, freed_by;  // see error_entry
  std::uint32_t doubt = none;          // see judged_error
  std::uint64_t count = 0;
  std::vector<error_place> places;  // that with most errors first
};

std::vector<error_kind> error_kinds(const profile& p, machinery& machinery);

}  // namespace heapledger::analyse

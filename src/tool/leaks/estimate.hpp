// How much a stack has lost, from a sample of its blocks and its exact counters; with the 95 % interval.
//
// The counters know exactly how much lives and bound how much of it is old. The sample tells which share of the old is
// lost: leaks among those that have been armed for long enough to know. What is too young to know is expected to be
// lost at the rate at which older blocks turned out to be: the share that reaches that age, times the share lost of
// those.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/leaks/growth.hpp"
#include "tool/leaks/survival.hpp"

namespace heapledger::leaks {

struct sampled_block {
  double bytes = 0;
  double inclusion = 1;
  bool lost = false;
};

struct evidence {
  growth::bounds old;            // at the age at which a block can be decided
  std::int64_t live_blocks = 0;  // without what was there before the hunt
  std::int64_t live_bytes = 0;
  std::vector<sampled_block> decided;  // living blocks of that age
  survival lifetimes;                  // of the sample
};

struct amount {
  double value = 0;
  double low = 0;
  double high = 0;
};

struct loss_estimate {
  amount bytes;
  amount blocks;
};

loss_estimate estimate_loss(const evidence& of);

}  // namespace heapledger::leaks

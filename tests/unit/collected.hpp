// The profile of a segment as a test built it.
#pragma once

#include "segment_builder.hpp"
#include "tool/collect/segment.hpp"

namespace heapledger::testing {

inline profile collected(segment_builder& builder) {
  const memory_file file(builder.bytes());
  return collect::collect_segment(file.path());
}

}  // namespace heapledger::testing

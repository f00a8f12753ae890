// What the user wishes of the leak watch of a process, said by one heapledger to another: `heapledger start` and `stop`
// count the wish up in the segment, and whoever watches the process sees it, does it, and says so.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tool/collect/segment_copy.hpp"

namespace heapledger::collect {

inline constexpr std::size_t request_offset = offsetof(wire::segment_header, watch_asked);

struct watch_wish {
  std::uint32_t wish = 0;  // 0: nobody ever wished
  std::uint32_t heeded = 0;

  bool wants_watch() const { return wish % 2 == 1; }
  bool is_new() const { return wish != heeded; }
};

watch_wish read_wish(const segment_file& segment);

// Each is another wish, also where the last one was the same. Returns it. Throws input_error.
std::uint32_t add_wish(const segment_file& segment, bool watch);
void heed_wish(const segment_file& segment, std::uint32_t wish);

// Whether a watch has begun and not ended, in whatever process.
bool is_watched(const segment_file& segment);

}  // namespace heapledger::collect

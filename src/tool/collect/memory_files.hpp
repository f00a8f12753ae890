// Files whose pages are shared memory to the kernel: it counts them as RssShmem, not as RssFile.
#pragma once

#include "tool/collect/mapping.hpp"

namespace heapledger::collect {

bool is_memory_file(const mapping& map);

}  // namespace heapledger::collect

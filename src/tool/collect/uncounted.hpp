// Programs that a process started and that keep no books.
#pragma once

#include <vector>

#include "tool/profile/profile.hpp"
#include "wire/segment.hpp"

namespace heapledger::collect {

// Each adds to a list in which every program and reason stands once; what cannot be is left out.
void add_uncounted(const wire::segment_header& header, std::vector<uncounted_info>& to);
void add_uncounted(const std::vector<uncounted_info>& programs, std::vector<uncounted_info>& to);

}  // namespace heapledger::collect

// Which stacks mapped memory, and how much.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/account/books.hpp"

namespace heapledger::probe {

// Counts a call from the stack that `own` walked last; the site is to be put into the ranges. 0: there is no room.
std::uint32_t book_mapping(books& own, wire::mapping_kind kind);

void forget_mapping_sites();  // with a new segment
// As site_index::follow_code.
void follow_code_of_mapping_sites();

}  // namespace heapledger::probe

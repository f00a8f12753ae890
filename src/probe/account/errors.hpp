// Errors of the program that the tags reveal, counted per kind and per account that allocated the block.
#pragma once

#include "probe/publish/segment.hpp"

namespace heapledger::probe {

void report_error(wire::error_kind kind, std::uint32_t account);
void reset_errors();

}  // namespace heapledger::probe

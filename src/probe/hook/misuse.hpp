// Blocks that the program has misused, as it turns out when it frees them: reported with the stack that does.
#pragma once

#include "probe/account/books.hpp"
#include "probe/account/tag.hpp"

namespace heapledger::probe {

// `own` is taken at the frame of the hook that frees, and what it remembers of the stack before is lost.
HL_COLD void report_misuse(books& own, wire::error_kind kind, std::uint32_t account);
HL_COLD void report_mismatch(books& own, std::uint32_t account, block_kind allocated_by, block_kind freed_by);

}  // namespace heapledger::probe

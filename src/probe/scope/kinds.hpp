// Kinds of scopes, in the segment: a name below a parent kind. By any thread; a lock is taken for a new kind only.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

inline constexpr std::uint32_t kind_limit = 4096;

// The parent itself when there is no room for another kind: counted once for each scope.
std::uint32_t kind_of(std::uint32_t parent, const char* name, std::size_t name_bytes);
void note_opened(std::uint32_t kind, const scope_budget& budget);
void note_closed(std::uint32_t kind);
void note_peak_of_kind(std::uint32_t kind, std::int64_t bytes);
void note_refusal(std::uint32_t kind);
void note_overdraft(std::uint32_t kind);
void reset_kinds();

}  // namespace heapledger::probe

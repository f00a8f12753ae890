// Massif's heap tree: from the allocation outward, the biggest first, and what is small added up.
#pragma once

#include <string>

#include "tool/analyse/measure.hpp"
#include "tool/export/names.hpp"
#include "tool/export/text_out.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::exports {

// Of what the stacks held by `by`, live or peak.
void write_massif_tree(const profile& p, safe_names& names, analyse::measure by, text_out& text);

// Of what stacks held at a moment of the profile's stack_timeline, of which all held `total`.
void write_massif_tree_at(const profile& p, safe_names& names, std::int64_t time_ns, std::int64_t total,
                          text_out& text);

// A # begins a comment there: ms_print would cut "main::{lambda()#1}" and all that follows.
std::string massif_text(std::string text);

// The sum at the root of that tree.
std::int64_t massif_total(const profile& p, analyse::measure by);

}  // namespace heapledger::exports

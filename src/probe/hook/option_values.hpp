// What the texts of variables mean, in the words of the tool's options. One that means nothing leaves the value as it
// is and is refused: a line on standard error says so, and children are not given it, or each would say it again.
#pragma once

#include <cstdint>

#include "wire/segment.hpp"

namespace heapledger::probe {

// Each is given the variable's name and its text, nullptr where it is not set.
void read_flag(const char* name, const char* text, bool& out);
void read_depth(const char* name, const char* text, std::uint32_t& out);
void read_stacks(const char* name, const char* text, wire::stacks_mode& out);
void read_snapshot_signal(const char* name, const char* text, int& out);

bool is_refused(const char* entry);  // of an environment

}  // namespace heapledger::probe

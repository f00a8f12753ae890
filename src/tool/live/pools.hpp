// The pools of a program as rows of the live view: heaps of their own, beside what malloc gave.
#pragma once

#include <string>
#include <vector>

#include "tool/live/sample.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::live {

// One for each name and chunk size, in the order of the profile, which is that of their first use.
std::vector<row> pool_rows(const profile& p);

// Columns of such a row.
std::string pool_pages_text(const row& of);
std::string pool_memory_text(const row& of);
std::string pool_used_text(const row& of);  // how much of the memory is chunks in use

// Keys of such a row.
std::string pool_json(const row& of);

}  // namespace heapledger::live

// What a command answers on standard output. A full disk must not look like a short answer, nor like success: throws
// std::runtime_error.
#pragma once

#include <string_view>

namespace heapledger::cli {

void print_answer(std::string_view text);
void finish_answer();  // what is still in memory is written

}  // namespace heapledger::cli

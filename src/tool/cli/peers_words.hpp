// Commands and options of heaptrack, memray, valgrind, jeprof and perf, which their users type here at first.
#pragma once

#include <string_view>

namespace heapledger::cli {

// What to type instead of `word`, an option of `command`, a format of export, or, where that is empty, a command; empty
// if nobody has it.
std::string_view peers_word(std::string_view command, std::string_view word);

}  // namespace heapledger::cli

// The screen on a real terminal, by ncurses, which is known behind this header only.
#pragma once

#include <cstdint>

#include "tool/live/screen.hpp"

namespace heapledger::live {

// False, and nothing has happened, when the terminal's type is unknown.
bool run_on_terminal(screen& view, std::uint32_t interval_ms, std::uint32_t count, const symbol_names& names);

}  // namespace heapledger::live

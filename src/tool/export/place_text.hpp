// "0x1234: parse(int) (parse.cpp:44)", as valgrind's tools write a frame.
#pragma once

#include <string>

#include "tool/export/names.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::exports {

std::string place_text(const profile& p, safe_names& names, const analyse::frame_ref& frame);

}  // namespace heapledger::exports

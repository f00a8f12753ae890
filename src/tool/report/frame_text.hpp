// One frame as a line of a report: function, then where it is.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tool/analyse/caller_tree.hpp"
#include "tool/analyse/frames.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::report {

// The function, or module and offset as addr2line takes them, or the bare address; at most `width` columns.
std::string frame_name(const profile& p, const analyse::frame_ref& frame, std::size_t width);

// "src/parse.cpp:44"; with several lines "parse.cpp:44,52,90"; "in libfoo.so" where no file is known.
std::string frame_place(const profile& p, const analyse::frame_ref& frame, std::span<const std::uint32_t> lines,
                        bool more_lines, std::size_t width);

// Both on one line of `width` columns behind `prefix`; places stand in one column whatever the prefix. `words` follow
// the function's name.
std::string frame_line(const profile& p, std::string_view prefix, const analyse::caller& caller, std::size_t width,
                       std::string_view words = {});

}  // namespace heapledger::report

// Two functions, often instances of one template, that look the same in a list once their names are short.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::report {

// How each entry of a list looks, and the function that it stands for. The result is what to say behind its name:
// nothing, or where others look the same, the part of the whole name in which it differs from theirs: "
// [order_record]".
std::vector<std::string> distinguishing_words(const profile& p,
                                              const std::vector<std::pair<std::string, analyse::frame_ref>>& entries);

// The same for whole names, without the brackets; nothing where they do not differ.
std::vector<std::string> differing_parts(const std::vector<std::string>& names);

}  // namespace heapledger::report

// Two functions, often instances of one template, that look the same in a list once their names are short.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heapledger::report {

struct shown_name {
  std::string look;           // as the list has it
  std::string_view function;  // whole; empty: it has no name
};

// What to say behind each name: nothing, or where others look the same, the part of the whole name in which it differs
// from theirs: " [order_record]".
std::vector<std::string> distinguishing_words(const std::vector<shown_name>& names);

// The same for whole names, without the brackets; nothing where they do not differ.
std::vector<std::string> differing_parts(const std::vector<std::string>& names);

}  // namespace heapledger::report

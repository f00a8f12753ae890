// Clang from 18 on, and GCC's later ABIs, write into a mangled name what the parameters of its templates were declared
// as, and tags on constructors. Demanglers of older C++ libraries cannot read any of these.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapledger::symbols {

struct older_name {
  std::string text;
  std::size_t left_out_at;  // in the text, the first declaration; npos: none
  std::size_t right_until;  // what follows counts on something that was left out
};

// The same name without them.
older_name in_older_mangling(std::string_view mangled);

}  // namespace heapledger::symbols

// What makes a function or a module of one build the same as that of another.
#pragma once

#include <string>
#include <string_view>

namespace heapledger::diff {

// Without what a compiler adds for a copy or a part of it: "f(int) [clone .isra.0]" and "f.constprop.0" are f.
std::string_view same_function(std::string_view name);

// Without folders and versions: "/lib/libz.so.1.2.13" is "libz.so".
std::string_view same_module(std::string_view path);

}  // namespace heapledger::diff

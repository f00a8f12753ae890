// What makes a function or a module of one build the same as that of another.
#pragma once

#include <string>
#include <string_view>

namespace heapledger::diff {

// Without what a compiler adds for a copy or a part of it: "f(int) [clone .isra.0]" and "f.constprop.0" are f.
std::string_view same_function(std::string_view name);

// Of a function that was compiled while the program ran: without folders, lines, and how well it was compiled.
// "py::load:/srv/app.py" is "py::load:app.py", and "JS:*load /srv/app.js:1:12" is "JS:load app.js". Empty: any other.
std::string same_generated_function(std::string_view name);

// Without folders and versions: "/lib/libz.so.1.2.13" is "libz.so", and "libLLVM-14.so.1" and
// "libLLVM-15.so.1" are both "libLLVM".
std::string_view same_module(std::string_view path);

}  // namespace heapledger::diff

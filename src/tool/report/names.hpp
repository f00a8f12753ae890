// Function names and paths short enough for a column. The whole names stay in --json.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapledger::report {

// Without return type and parameters; then, as far as needed, template arguments become <...>, deepest first, outer
// scopes are dropped, and the rest is cut.
std::string short_function(std::string_view function, std::size_t width);

// "libfoo.so+0x12", by which a place without a name goes: what is cut is the module.
std::string short_address(std::string_view name, std::size_t width);

// The last components of a path that fit, at least the file's name.
std::string short_path(std::string_view path, std::size_t width);

std::string_view file_part(std::string_view path);

}  // namespace heapledger::report

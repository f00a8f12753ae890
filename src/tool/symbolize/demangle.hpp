// Symbol names as people write them: C++ (Itanium ABI), Rust legacy and Rust v0.
// Names come from files and may be hostile: whatever is too long, would expand without measure, or is no valid mangled
// name is returned as it came.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace heapledger {

inline constexpr std::size_t mangled_name_limit_bytes = std::size_t{16} * 1024;
inline constexpr std::size_t demangled_name_limit_bytes = std::size_t{256} * 1024;

bool is_mangled(std::string_view name);
std::string demangle(std::string_view name);

// GCC calls the body of a coroutine after the local type of its frame, NUMBER _Z5servev.Frame, the number being the
// length of what follows it: the mangled name of the coroutine. Clang's are _Z5servev.resume and the like. Empty: the
// symbol is no such body.
std::string_view coroutine_of(std::string_view symbol);

}  // namespace heapledger

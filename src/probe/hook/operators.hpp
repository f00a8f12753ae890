// Whose operators new and delete the program means: the C++ library's, or others that stand in their place, which the
// program may hand blocks of its own by, and which must be called. The C++ library lets anyone define them: the
// program, or a library that comes before the C++ library.
#pragma once

#include <link.h>

#include <cstdint>

namespace heapledger::probe {

// libstdc++ or libc++, or what has a copy of either in it.
bool is_library_of_cxx(const link_map& map);

enum class operators_behind : std::uint8_t {
  of_library,  // or of the allocator, which is behind us as well
  replaced,
  none,  // a C program: those of a plugin may come later
};

// At the program's start, with us preloaded or linked. Asks dlsym.
operators_behind find_operators(const void* allocator);

// As `none` turned out, by the one who first means an operator.
operators_behind find_operators_of(const void* caller, const void* allocator);

}  // namespace heapledger::probe

// What the pool throws, by the functions that the library has for itself: a `throw` here would be another body in units
// built with -fno-exceptions, and the linker keeps one of the two for all.
#pragma once

#include <memory>
#include <new>

#include "attributes.hpp"

namespace heapledger::pool_detail {

[[noreturn]] HEAPLEDGER_POOL_COLD inline void throw_bad_alloc() {
  std::__throw_bad_alloc();
}
[[noreturn]] HEAPLEDGER_POOL_COLD inline void throw_bad_array_new_length() {
#if defined(_GLIBCXX_RELEASE) && _GLIBCXX_RELEASE < 11
  std::__throw_bad_alloc();
#else
  std::__throw_bad_array_new_length();
#endif
}

}  // namespace heapledger::pool_detail

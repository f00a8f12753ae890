// Which mistakes of the program a pool looks for. Every check is exact and takes constant time (a double free is seen
// until the chunk is handed out again: then it is a free); all but `fill` together
// cost little (docs/pools.md has the measured costs).
//
// A policy of one's own derives from one of these and hides what should differ, `failed` among it.
#pragma once

#include <concepts>

#include "violation.hpp"

namespace heapledger {

struct no_checks {
  static constexpr bool ownership = false;    // the pointer is of this pool: not of another, not of nobody
  static constexpr bool position = false;     // it is where a chunk begins
  static constexpr bool double_free = false;  // the chunk is in use; costs 8 bytes a chunk, and rounding
  static constexpr bool canary = false;       // nobody wrote next to it; costs 16 bytes a chunk
  static constexpr bool fill = false;         // new and free chunks hold a pattern, and nobody wrote into a free one;
                                              // costs 8 bytes a chunk, and a page that goes back is looked through
  static constexpr bool leaks = false;        // nothing is in use when the pool is destroyed

  static void failed(const violation& found) { pool_detail::the_violation_handler.load()(found); }
};

struct exact_checks : no_checks {
  static constexpr bool ownership = true;
  static constexpr bool position = true;
  static constexpr bool double_free = true;
  static constexpr bool canary = true;
  static constexpr bool leaks = true;
};

struct all_checks : exact_checks {
  static constexpr bool fill = true;
};

// What a pool is declared with by units that are built otherwise must be named: the default is another type there.
#ifdef NDEBUG
using default_checks = no_checks;
#else
using default_checks = all_checks;
#endif

template <class C>
concept pool_checks = requires(const violation& found) {
  requires std::same_as<decltype(C::ownership), const bool>;
  requires std::same_as<decltype(C::position), const bool>;
  requires std::same_as<decltype(C::double_free), const bool>;
  requires std::same_as<decltype(C::canary), const bool>;
  requires std::same_as<decltype(C::fill), const bool>;
  requires std::same_as<decltype(C::leaks), const bool>;
  C::failed(found);
};

}  // namespace heapledger

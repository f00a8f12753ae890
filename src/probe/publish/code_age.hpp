// Since when some code can have been on a stack of these books: what was published before is not in it, and need not be
// looked at when the code goes.
#pragma once

#include "probe/publish/segment.hpp"

namespace heapledger::probe {

inline constexpr wire::counts_before whole_books{1, 1, 1};

inline wire::counts_before counts_now() {
  const wire::segment_header& header = *segment.header;
  return {__atomic_load_n(&header.place_count, __ATOMIC_RELAXED), __atomic_load_n(&header.node_count, __ATOMIC_RELAXED),
          __atomic_load_n(&header.account_count, __ATOMIC_RELAXED)};
}

// For what outlives the books: a forked child has others.
class code_age {
 public:
  code_age() : books_(books_now()), before_(books_ != 0 ? counts_now() : whole_books) {}
  wire::counts_before before() const { return books_ == books_now() ? before_ : whole_books; }

 private:
  static std::uint64_t books_now() { return segment.header != nullptr ? segment.header->start_monotonic_ns : 0; }

  std::uint64_t books_;
  wire::counts_before before_;
};

}  // namespace heapledger::probe

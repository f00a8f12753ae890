// What code does with an exception that lands in it: handles it, throws it on, or ends the program. The tables of the
// C++ ABI do not say; the instructions do, as far as they are followed from the landing pad on.
#pragma once

#include <heapledger/detail/exception_filter.hpp>
#include <heapledger/detail/function_tables.hpp>
#include <heapledger/detail/runtime_call.hpp>

#include <cstddef>
#include <cstdint>

namespace heapledger::detail {

// What was met on the ways from a landing pad.
struct landing {
  bool leaves = false;   // the handler was left; or a way was lost
  bool resumes = false;  // cleaned up: the exception goes on
  bool terminates = false;
  bool catches_to_terminate = false;  // not within a handler
  std::uintptr_t rethrown_at = 0;     // within the call
  std::uintptr_t thrown_at = 0;       // another exception
};

#if defined(__x86_64__)

// Follows all ways that the code may take; where it tells handlers apart by the number of the exception's type, the one
// of `filter`. Takes some microseconds at most: what is not found then counts as left.
class landing_pad {
 public:
  static constexpr std::int64_t cleanup = 0;  // a filter: no handler is for it

  landing_pad(std::uintptr_t code, std::int64_t filter) : filter_(filter) { add({code, exception_filter(filter), 0}); }

  landing follow() {
    const auto goes_on = [this] { return filter_ == cleanup && (found_.resumes || found_.leaves); };
    while (begun_ < count_ && !goes_on()) walk(ways_[begun_++]);
    return found_;
  }

 private:
  // The code from here on is reached so:
  struct way {
    std::uintptr_t code;
    exception_filter filter;
    std::uint32_t in_handlers;
  };
  static constexpr std::size_t most_ways = 40;
  static constexpr int most_instructions = 2000;

  void add(const way& next) {
    if (known(next.code)) return;
    if (count_ == most_ways)
      found_.leaves = true;
    else
      ways_[count_++] = next;
  }

  void walk(way at) {
    using flow = instruction::flow;
    if (at.code - part_.function >= part_.bytes) part_ = tables_of(at.code);
    if (part_.bytes == 0) return static_cast<void>(found_.leaves = true);
    for (bool first = true;; first = false) {
      if (!first && known(at.code)) return;
      if (at.code - part_.function >= part_.bytes) return;  // after a call that does not return
      const instruction is = instruction_reader::at(reinterpret_cast<const unsigned char*>(at.code));
      if (++instructions_ > most_instructions || is.goes == flow::ends) {
        found_.leaves = true;
        return;
      }
      at.code = reinterpret_cast<std::uintptr_t>(is.next);
      if (is.goes == flow::on) {
        at.filter.step(is);
      } else if (is.goes == flow::branch) {
        const bool decided = at.filter.decides(is), taken = !decided || at.filter.takes(is);
        if (taken) add({is.target, at.filter, at.in_handlers});
        if (decided && taken) return;
      } else {
        const runtime_call callee = callee_of(is);
        if (!goes_on_after(callee, at)) return;
        if (is.goes == flow::jump) {
          if (callee == runtime_call::other && !is.through_pointer)
            add({is.target, at.filter, at.in_handlers});
          else
            found_.leaves = true;  // the last call of the function
          return;
        }
        at.filter.call();
      }
    }
  }

  bool known(std::uintptr_t code) const {
    for (std::size_t i = 0; i < count_; ++i)
      if (ways_[i].code == code) return true;
    return false;
  }

  bool goes_on_after(runtime_call callee, way& at) {
    const std::uintptr_t within_call = at.code - 1;
    switch (callee) {
      case runtime_call::begin_catch:
        ++at.in_handlers;
        return filter_ != cleanup;
      case runtime_call::end_catch:
        // Of another handler, which was left by this exception.
        if (at.in_handlers == 0) return true;
        if (--at.in_handlers != 0) return true;
        found_.leaves = true;
        return false;
      case runtime_call::rethrow:
        found_.rethrown_at = within_call;
        return false;
      case runtime_call::throws:
        found_.thrown_at = within_call;
        return false;
      case runtime_call::resume:
        found_.resumes = true;
        return false;
      case runtime_call::catch_to_terminate:
        if (at.in_handlers == 0) found_.catches_to_terminate = true;
        [[fallthrough]];
      case runtime_call::terminate:
        found_.terminates = true;
        return false;
      default:
        return true;
    }
  }

  std::int64_t filter_;
  function_tables part_;  // of the function, where the way is
  way ways_[most_ways];
  std::size_t count_ = 0, begun_ = 0;
  int instructions_ = 0;
  landing found_;
};

inline landing landing_at(std::uintptr_t code, std::int64_t filter) {
  return landing_pad(code, filter).follow();
}

#else

inline landing landing_at(std::uintptr_t, std::int64_t) {
  landing unknown;
  unknown.leaves = true;
  return unknown;
}

#endif

}  // namespace heapledger::detail

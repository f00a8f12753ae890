// One piece of work in a scope of its own, with limits, and what it used:
//
//     const auto parsed = heapledger::run("parse", {.live_bytes = 1 << 20}, [&] { return parse(text); });
//     log(parsed.used.peak_bytes, parsed.escaped_bytes());
//     use(parsed.value);
#pragma once

#include <heapledger/scope.hpp>

#include <string_view>
#include <type_traits>
#include <utility>

namespace heapledger {

namespace detail {
struct run_report {
  usage used;  // when the work had returned, its result still there; zero where there was no room for a scope
  bool exceeded = false;  // a limit was met, of its scope or of one above

  // What outlives the work: its result, and what it gave to others. Charged to its scope until it is freed.
  std::int64_t escaped_bytes() const noexcept { return used.live_bytes; }
  std::int64_t escaped_blocks() const noexcept { return used.live_blocks; }
};
}  // namespace detail

template <class T>
struct run_result : detail::run_report {
  T value;
};
template <>
struct run_result<void> : detail::run_report {};

namespace detail {
inline run_report report_of(scope own) {
  return {own != scope::current() ? own.used() : usage{}, own.exceeded()};
}
}  // namespace detail

// Calls f in a new scope below the current one. What it throws is let through; afterwards this thread is where it was,
// and the scope is closed.
template <class F>
auto run(std::string_view name, budget limits, F&& f) {
  using value = std::decay_t<std::invoke_result_t<F>>;
  const owned_scope own(name, limits);
  if constexpr (std::is_void_v<value>) {
    run_in(own, std::forward<F>(f));
    return run_result<void>{detail::report_of(own)};
  } else {
    value result = run_in(own, [&]() -> value { return std::forward<F>(f)(); });  // a copy is part of the work
    return run_result<value>{detail::report_of(own), std::move(result)};
  }
}

}  // namespace heapledger

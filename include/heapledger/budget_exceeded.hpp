// The exception of an allocation that a budget refused. Part of scope.hpp.
#pragma once

#include <heapledger/detail/may_throw.hpp>
#include <heapledger/detail/scope_control.hpp>
#include <heapledger/scope.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>

namespace heapledger {

// What operator new throws where a budget says `fail`.
class budget_exceeded : public std::bad_alloc {
 public:
  explicit budget_exceeded(const heapledger_refusal& why) noexcept
      : scope_(scope::from_handle(why.scope)), used_(scope_.used()), requested_bytes_(why.requested_bytes) {
    static constexpr const char* resources[] = {"live bytes", "allocated bytes", "allocations"};
    const budget limit = scope_.limits();
    const std::uint64_t limits[] = {limit.live_bytes - limit.reserve_bytes, limit.allocated_bytes, limit.allocations};
    const std::uint64_t use[] = {static_cast<std::uint64_t>(used_.live_bytes), used_.allocated_bytes,
                                 used_.allocations};
    const std::size_t which = why.resource < 3 ? why.resource : 0;
    char name[101] = "";  // name() would take away what this thread asked for last
    if (heapledger_scope_name != nullptr) heapledger_scope_name(why.scope, name, sizeof name);
    std::snprintf(text_, sizeof text_, "over budget in scope %s: %llu of %llu %s used, %llu bytes requested", name,
                  static_cast<unsigned long long>(use[which]), static_cast<unsigned long long>(limits[which]),
                  resources[which], static_cast<unsigned long long>(why.requested_bytes));
  }
  const char* what() const noexcept override { return text_; }
  heapledger::scope where() const noexcept { return scope_; }  // whose budget it was
  const usage& used() const noexcept { return used_; }         // when it was refused
  std::uint64_t requested_bytes() const noexcept { return requested_bytes_; }

 private:
  heapledger::scope scope_;
  usage used_;
  std::uint64_t requested_bytes_;
  char text_[240];
};

namespace detail {
#ifdef __cpp_exceptions
[[noreturn, gnu::used]] inline void throw_budget_exceeded(const heapledger_refusal* why) {
  const enter outside(scope::process());  // the exception itself needs memory
  throw budget_exceeded(*why);
}
#ifdef __cpp_rtti
[[gnu::used]] inline int may_throw_budget_exceeded() {
  return may_throw<budget_exceeded>() ? 1 : 0;
}
// Variables, not code, have the addresses: in a program at a fixed place the linker would answer code with that of a
// stub, for all libraries as well, and the probe would take that for an operator new of the program's own.
inline void* (*volatile plain_new)(std::size_t) = &::operator new;
inline void* (*volatile aligned_new)(std::size_t, std::align_val_t) = &::operator new;
// Operator new is the program's own where the C++ library is linked in: then it throws std::bad_alloc when malloc
// fails.
[[gnu::used]] inline int may_fail_malloc(const void* caller) {
  constexpr std::uintptr_t most_bytes = 4096;  // of such an operator; others are not looked up
  const auto in = reinterpret_cast<std::uintptr_t>(caller) - 1;
  for (const std::uintptr_t own :
       {reinterpret_cast<std::uintptr_t>(plain_new), reinterpret_cast<std::uintptr_t>(aligned_new)})
    if (in - own < most_bytes && tables_of(in).function == own && !may_throw<std::bad_alloc>()) return 0;
  return 1;
}
#endif
#endif
}  // namespace detail

}  // namespace heapledger

// Whether an exception that is thrown here would be stopped by a function that is noexcept: std::terminate instead of a
// handler. Looks at what the unwinder would look at, and throws nothing.
//
// The tables say in which code an exception lands; whether that handles it, cleans up and throws it on, as the
// library's containers do, or ends the program, only the code itself says. It is read, where it is x86-64's. Where a
// handler both may end and may throw on, it is taken to throw on: what is allocated then passes a limit at worst, and
// does not end the program.
//
// What is not seen: a handler that throws on in a function which it calls. Where such code is known, it is marked by a
// nothing_leaves object.
#pragma once

#include <unwind.h>

#include <heapledger/detail/exception_table.hpp>
#include <heapledger/detail/function_tables.hpp>
#include <heapledger/detail/landing_pad.hpp>

#include <cstddef>
#include <cstdint>
#include <new>
#include <typeinfo>

namespace heapledger::detail {

// No exception may leave the function that has this object.
class nothing_leaves {
 public:
  nothing_leaves() noexcept : outer_(innermost()) { innermost() = this; }
  ~nothing_leaves() { innermost() = outer_; }
  nothing_leaves(const nothing_leaves&) = delete;
  nothing_leaves& operator=(const nothing_leaves&) = delete;

  static const nothing_leaves*& innermost() noexcept {
    static constinit thread_local const nothing_leaves* here = nullptr;
    return here;
  }

 private:
  const nothing_leaves* outer_;
};

struct thrown_types {
  const std::type_info* const* types;
  std::size_t count;
  std::uintptr_t from;  // below it on this stack
  bool terminates;
};

// What the function at `pc` does with it.
inline exception_table::outcome outcome_in(function_tables tables, std::uintptr_t pc, const thrown_types& thrown) {
  using outcome = exception_table::outcome;
  constexpr int handlers_in_handlers = 16;
  std::size_t types = thrown.count;
  for (int i = 0; i < handlers_in_handlers; ++i) {
    const auto found = exception_table(tables.exceptions, tables.function).at(pc, thrown.types, types);
    if (found.is == outcome::terminates || found.landing == 0) return found.is;
    const landing then = landing_at(found.landing, found.filter);
    if (found.is == outcome::passes) {
      const bool only_terminates = then.terminates && !then.resumes && !then.leaves;
      return only_terminates ? outcome::terminates : outcome::passes;
    }
    // The last of the handlers, so it is this one.
    if (found.is_any && then.catches_to_terminate) return outcome::terminates;
    if (then.rethrown_at == 0) {
      if (then.leaves) return outcome::caught;
      if (then.thrown_at == 0) return then.terminates ? outcome::terminates : outcome::caught;
      types = 0;  // of whatever type
    }
    pc = then.rethrown_at != 0 ? then.rethrown_at : then.thrown_at;
    tables = tables_of(pc);
    if (tables.exceptions == nullptr) return outcome::passes;
  }
  return outcome::caught;
}

inline _Unwind_Reason_Code look_at_frame(_Unwind_Context* frame, void* argument) {
  auto& thrown = *static_cast<thrown_types*>(argument);
  const auto marked = reinterpret_cast<std::uintptr_t>(nothing_leaves::innermost());
  if (marked != 0 && _Unwind_GetCFA(frame) > marked && thrown.from < marked) {
    thrown.terminates = true;
    return _URC_END_OF_STACK;
  }
  const void* const table = reinterpret_cast<const void*>(_Unwind_GetLanguageSpecificData(frame));
  if (table == nullptr) return _URC_NO_REASON;
  int after_call = 0;
  std::uintptr_t pc = _Unwind_GetIPInfo(frame, &after_call);
  if (after_call == 0) --pc;
  const auto found = outcome_in({table, _Unwind_GetRegionStart(frame), 0}, pc, thrown);
  if (found == exception_table::outcome::passes) return _URC_NO_REASON;
  thrown.terminates = found == exception_table::outcome::terminates;
  return _URC_END_OF_STACK;
}

#ifdef __cpp_rtti
// For an exception of type E, which is derived from std::bad_alloc. Where nobody catches it at all: true.
template <class E>
bool may_throw() {  // not noexcept: it would find itself
  static const std::type_info* const types[] = {&typeid(E), &typeid(std::bad_alloc), &typeid(std::exception)};
  thrown_types thrown{types, sizeof types / sizeof types[0],
                      reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), false};
  _Unwind_Backtrace(look_at_frame, &thrown);
  return !thrown.terminates;
}
#endif

}  // namespace heapledger::detail

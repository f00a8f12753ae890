// Whether an exception that is thrown here would be stopped by a function that is noexcept: std::terminate instead of a
// handler. Looks at what the unwinder would look at (the tables of the Itanium C++ ABI), and throws nothing.
//
// What the tables do not show: a noexcept function of clang's catches everything and then terminates, which cannot be
// told from a handler; and one of gcc's that was inlined, and has something to destroy first, looks like any other
// code. Where such code is known, it is marked by a nothing_leaves object.
#pragma once

#include <unwind.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <typeinfo>

namespace heapledger::detail {

// The exception tables of one function ("LSDA").
class exception_table {
 public:
  enum class outcome { passes, caught, terminates };

  exception_table(const void* table, std::uintptr_t function) : at_(static_cast<const unsigned char*>(table)) {
    landing_base_ = function;
    if (const unsigned encoding = byte(); encoding != omitted) landing_base_ = encoded(encoding);
    type_encoding_ = byte();
    if (type_encoding_ != omitted) {
      const std::uint64_t offset = uleb();
      types_ = at_ + offset;
    }
    call_encoding_ = byte();
    const std::uint64_t calls_bytes = uleb();
    actions_ = at_ + calls_bytes;
    function_ = function;
  }

  // What happens to an exception of type `thrown`, or one of its bases, where the function is at `pc`.
  outcome at(std::uintptr_t pc, const std::type_info* const* thrown, std::size_t thrown_count) {
    while (at_ < actions_) {
      const std::uintptr_t start = function_ + encoded(call_encoding_);
      const std::uintptr_t bytes = encoded(call_encoding_);
      const std::uintptr_t landing = encoded(call_encoding_);
      const std::uint64_t action = uleb();
      if (pc < start) break;
      if (pc >= start + bytes) continue;
      if (landing == 0 || action == 0) return outcome::passes;
      return act(actions_ + action - 1, thrown, thrown_count);
    }
    return outcome::terminates;  // a call that the table leaves out must not throw
  }

 private:
  static constexpr unsigned omitted = 0xff;

  outcome act(const unsigned char* action, const std::type_info* const* thrown, std::size_t thrown_count) {
    for (;;) {
      at_ = action;
      const std::int64_t filter = sleb();
      const unsigned char* const before_next = at_;
      const std::int64_t next = sleb();
      if (filter < 0) return outcome::terminates;  // throw(), of old
      if (filter > 0) {
        const std::type_info* const type = type_at(static_cast<std::uint64_t>(filter));
        if (type == nullptr) return outcome::caught;  // catch (...)
        for (std::size_t i = 0; i < thrown_count; ++i)
          if (*type == *thrown[i]) return outcome::caught;
      }
      if (next == 0) return outcome::passes;
      action = before_next + next;
    }
  }

  const std::type_info* type_at(std::uint64_t filter) {
    at_ = types_ - filter * (format_bytes(type_encoding_));
    return reinterpret_cast<const std::type_info*>(encoded(type_encoding_));
  }

  static std::size_t format_bytes(unsigned encoding) {
    switch (encoding & 7) {
      case 2:
        return 2;
      case 3:
        return 4;
      default:
        return 8;
    }
  }
  unsigned byte() { return *at_++; }
  template <class T>
  T read() {
    T value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const unsigned next = byte();
      value |= std::uint64_t{next & 0x7f} << shift;
      if ((next & 0x80) == 0) return value;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const unsigned next = byte();
      value |= std::uint64_t{next & 0x7f} << shift;
      shift += 7;
      if ((next & 0x80) != 0) continue;
      if ((next & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
  }
  std::uintptr_t encoded(unsigned encoding) {
    const auto here = reinterpret_cast<std::uintptr_t>(at_);
    std::uintptr_t value;
    switch (encoding & 0xf) {
      case 0x1:
        value = uleb();
        break;
      case 0x2:
        value = read<std::uint16_t>();
        break;
      case 0x3:
        value = read<std::uint32_t>();
        break;
      case 0x9:
        value = static_cast<std::uintptr_t>(sleb());
        break;
      case 0xa:
        value = static_cast<std::uintptr_t>(read<std::int16_t>());
        break;
      case 0xb:
        value = static_cast<std::uintptr_t>(read<std::int32_t>());
        break;
      default:
        value = read<std::uintptr_t>();
        break;
    }
    if (value != 0 && (encoding & 0x70) == 0x10) value += here;
    if (value != 0 && (encoding & 0x80) != 0) std::memcpy(&value, reinterpret_cast<const void*>(value), sizeof value);
    return value;
  }

  const unsigned char* at_;
  const unsigned char* types_ = nullptr;
  const unsigned char* actions_ = nullptr;
  std::uintptr_t function_ = 0;
  std::uintptr_t landing_base_ = 0;
  unsigned type_encoding_ = omitted;
  unsigned call_encoding_ = 0;
};

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
  const auto found = exception_table(table, _Unwind_GetRegionStart(frame)).at(pc, thrown.types, thrown.count);
  if (found == exception_table::outcome::passes) return _URC_NO_REASON;
  thrown.terminates = found == exception_table::outcome::terminates;
  return _URC_END_OF_STACK;
}

#if __cpp_rtti
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

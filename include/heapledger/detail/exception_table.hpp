// The tables in which a function says what it does with exceptions (the "LSDA" of the Itanium C++ ABI), as the unwinder
// reads them. Trusts them, as it does.
#pragma once

#include <heapledger/detail/table_reader.hpp>

#include <cstddef>
#include <cstdint>
#include <typeinfo>

namespace heapledger::detail {

class exception_table : table_reader {
 public:
  enum class outcome { passes, caught, terminates };
  struct finding {
    outcome is;
    std::uintptr_t landing = 0;  // where code goes on, to handle it or to clean up; or 0
    std::int64_t filter = 0;     // what says there which handler it is
    bool is_any = false;         // catch (...), or clang's noexcept
  };

  exception_table(const void* table, std::uintptr_t function) : table_reader(table) {
    landing_base_ = function;
    if (const unsigned encoding = byte(); encoding != omitted) landing_base_ = encoded(encoding);
    type_encoding_ = byte();
    if (type_encoding_ != omitted) {
      const std::uint64_t offset = uleb();
      types_ = position + offset;
    }
    call_encoding_ = byte();
    const std::uint64_t calls_bytes = uleb();
    actions_ = position + calls_bytes;
    function_ = function;
  }

  // What happens to an exception of type `thrown`, or one of its bases, where the function is at `pc`.
  finding at(std::uintptr_t pc, const std::type_info* const* thrown, std::size_t thrown_count) {
    while (position < actions_) {
      const std::uintptr_t start = function_ + encoded(call_encoding_);
      const std::uintptr_t bytes = encoded(call_encoding_);
      const std::uintptr_t landing = encoded(call_encoding_);
      const std::uint64_t action = uleb();
      if (pc < start) break;
      if (pc >= start + bytes) continue;
      if (landing == 0) return {outcome::passes};
      if (action == 0) return {outcome::passes, landing_base_ + landing};
      finding found = act(actions_ + action - 1, thrown, thrown_count);
      if (found.is == outcome::passes && !cleans_up_) return found;
      found.landing = landing_base_ + landing;
      return found;
    }
    return {outcome::terminates};  // a call that the table leaves out must not throw
  }

 private:
  finding act(const unsigned char* action, const std::type_info* const* thrown, std::size_t thrown_count) {
    for (;;) {
      position = action;
      const std::int64_t filter = sleb();
      const unsigned char* const before_next = position;
      const std::int64_t next = sleb();
      if (filter < 0) return {outcome::terminates};  // throw(), of old
      if (filter == 0) cleans_up_ = true;
      if (filter > 0) {
        const std::type_info* const type = type_at(static_cast<std::uint64_t>(filter));
        if (type == nullptr) return {outcome::caught, 0, filter, true};
        for (std::size_t i = 0; i < thrown_count; ++i)
          if (*type == *thrown[i]) return {outcome::caught, 0, filter};
      }
      if (next == 0) return {outcome::passes};
      action = before_next + next;
    }
  }

  const std::type_info* type_at(std::uint64_t filter) {
    position = types_ - filter * (format_bytes(type_encoding_));
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
  const unsigned char* types_ = nullptr;
  const unsigned char* actions_ = nullptr;
  std::uintptr_t function_ = 0;
  std::uintptr_t landing_base_ = 0;
  unsigned type_encoding_ = omitted;
  unsigned call_encoding_ = 0;
  bool cleans_up_ = false;
};

}  // namespace heapledger::detail

// Rust v0 mangling, RFC 2603: a recursive descent over the grammar, one function a rule, with limits on depth and work.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tool/symbolize/rust_v0_text.hpp"

namespace heapledger::symbols {

class rust_v0_grammar {
 public:
  explicit rust_v0_grammar(std::string_view mangled) : text_(mangled) {}

  std::string symbol_name();  // empty: malformed, or not understood

 private:
  class nested {  // one level of recursion
   public:
    explicit nested(rust_v0_grammar& owner);
    ~nested() { --owner_.depth_; }
    nested(const nested&) = delete;
    nested& operator=(const nested&) = delete;

   private:
    rust_v0_grammar& owner_;
  };

  // rust_v0_paths.cpp
  void path(bool in_value);
  void nested_path(bool in_value);
  void implementation_path();
  void generic_argument();

  // rust_v0_types.cpp
  void type();
  void array_or_slice(bool has_length);
  void reference(bool is_mutable);
  void function_signature();
  void dynamic_type();
  void dynamic_trait();
  bool trait_path();  // whether its angle bracket is still open
  void constant();
  void integer();
  void boolean();
  void character();
  void lifetime(std::uint64_t index);

  // Items up to 'E', separated by commas; their number.
  template <class Parse>
  std::size_t list(Parse parse) {
    std::size_t count = 0;
    while (text_.ok() && !text_.take('E')) {
      if (count++ > 0) text_.print(", ");
      parse();
    }
    return count;
  }

  // Parses again from an earlier place, always before the reference itself.
  template <class Parse>
  void back_reference(Parse parse) {
    const auto here = text_.position() - 1;
    const auto target = text_.base62();
    if (!text_.ok() || target >= here) return text_.fail();
    if (text_.silent()) return;
    const auto resume = text_.position();
    text_.move_to(static_cast<std::size_t>(target));
    parse();
    text_.move_to(resume);
  }

  // for<'a, 'b>: names for the lifetimes that the parsed part binds.
  template <class Parse>
  void bind_lifetimes(Parse parse) {
    const auto count = text_.optional_base62('G');
    const auto before = bound_lifetimes_;
    if (count > bound_lifetimes_limit) text_.fail();
    if (text_.ok() && count > 0) {
      text_.print("for<");
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i > 0) text_.print(", ");
        ++bound_lifetimes_;
        lifetime(1);
      }
      text_.print("> ");
    }
    parse();
    bound_lifetimes_ = before;
  }

  static constexpr std::uint64_t bound_lifetimes_limit = 1000;

  rust_v0_text text_;
  int depth_ = 0;
  std::size_t steps_ = 0;
  std::uint64_t bound_lifetimes_ = 0;
};

}  // namespace heapledger::symbols

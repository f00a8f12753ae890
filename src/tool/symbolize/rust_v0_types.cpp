#include <array>
#include <charconv>
#include <optional>
#include <system_error>
#include <utility>

#include "tool/symbolize/rust_v0_grammar.hpp"

namespace heapledger::symbols {
namespace {

constexpr unsigned letters = 26;

// By letter; null: no basic type.
constexpr std::array<const char*, letters> basic_types = {
    "i8",   "bool", "char", "f64",   "str",   "f32", nullptr, "u8", "isize", "usize", nullptr, "i32", "u32",
    "i128", "u128", "_",    nullptr, nullptr, "i16", "u16",   "()", "...",   nullptr, "i64",   "u64", "!"};

const char* basic_type(char code) {
  return code >= 'a' && code <= 'z' ? basic_types[static_cast<unsigned>(code - 'a')] : nullptr;
}

std::optional<std::uint64_t> hex_value(std::string_view digits) {
  std::uint64_t value = 0;
  if (digits.empty()) return value;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

}  // namespace

void rust_v0_grammar::type() {
  const nested guard(*this);
  if (!text_.ok()) return;
  const auto begin = text_.position();
  const char code = text_.next();
  if (const char* name = basic_type(code)) return text_.print(name);
  switch (code) {
    case 'A':
      return array_or_slice(true);
    case 'S':
      return array_or_slice(false);
    case 'T':
      text_.print("(");
      if (list([this] { type(); }) == 1) text_.print(",");
      return text_.print(")");
    case 'R':
      return reference(false);
    case 'Q':
      return reference(true);
    case 'P':
      text_.print("*const ");
      return type();
    case 'O':
      text_.print("*mut ");
      return type();
    case 'F':
      return bind_lifetimes([this] { function_signature(); });
    case 'D':
      return dynamic_type();
    case 'B':
      return back_reference([this] { type(); });
    default:
      text_.move_to(begin);
      return path(false);
  }
}

void rust_v0_grammar::array_or_slice(bool has_length) {
  text_.print("[");
  type();
  if (has_length) {
    text_.print("; ");
    constant();
  }
  text_.print("]");
}

void rust_v0_grammar::reference(bool is_mutable) {
  text_.print("&");
  if (text_.take('L')) {
    if (const auto index = text_.base62(); index != 0) {
      lifetime(index);
      text_.print(" ");
    }
  }
  if (is_mutable) text_.print("mut ");
  type();
}

void rust_v0_grammar::function_signature() {
  if (text_.take('U')) text_.print("unsafe ");
  if (text_.take('K')) {
    text_.print("extern \"");
    if (text_.take('C')) {
      text_.print("C");
    } else {
      for (const char c : text_.identifier().text) text_.print(c == '_' ? '-' : c);
    }
    text_.print("\" ");
  }
  text_.print("fn(");
  list([this] { type(); });
  text_.print(")");
  if (text_.take('u')) return;
  text_.print(" -> ");
  type();
}

void rust_v0_grammar::dynamic_type() {
  text_.print("dyn ");
  bind_lifetimes([this] {
    bool first = true;
    while (text_.ok() && !text_.take('E')) {
      if (!std::exchange(first, false)) text_.print(" + ");
      dynamic_trait();
    }
  });
  if (!text_.take('L')) return text_.fail();
  if (const auto index = text_.base62(); index != 0) {
    text_.print(" + ");
    lifetime(index);
  }
}

// A trait's own generic arguments and its associated types share one pair of angle brackets.
void rust_v0_grammar::dynamic_trait() {
  bool open = trait_path();
  while (text_.ok() && text_.take('p')) {
    text_.print(std::exchange(open, true) ? ", " : "<");
    text_.print(text_.identifier());
    text_.print(" = ");
    type();
  }
  if (open) text_.print(">");
}

bool rust_v0_grammar::trait_path() {
  const nested guard(*this);
  if (text_.take('B')) {
    bool open = false;
    back_reference([&] { open = trait_path(); });
    return open;
  }
  if (!text_.take('I')) {
    path(false);
    return false;
  }
  path(false);
  text_.print("<");
  list([this] { generic_argument(); });
  return true;
}

void rust_v0_grammar::lifetime(std::uint64_t index) {
  text_.print("'");
  if (index == 0) return text_.print("_");
  if (index > bound_lifetimes_) return text_.fail();
  const auto depth = bound_lifetimes_ - index;
  if (depth < letters) return text_.print(static_cast<char>('a' + depth));
  text_.print("_");
  text_.print_number(depth);
}

void rust_v0_grammar::constant() {
  const nested guard(*this);
  if (!text_.ok()) return;
  const char code = text_.next();
  if (code == 'p') return text_.print("_");
  if (code == 'B') return back_reference([this] { constant(); });
  if (code == 'b') return boolean();
  if (code == 'c') return character();
  const bool is_signed = std::string_view("aslxni").find(code) != std::string_view::npos;
  if (!is_signed && std::string_view("htmyoj").find(code) == std::string_view::npos) return text_.fail();
  if (is_signed && text_.take('n')) text_.print("-");
  integer();
}

void rust_v0_grammar::integer() {
  const auto digits = text_.hex_digits();
  if (const auto value = hex_value(digits)) return text_.print_number(*value);
  text_.print("0x");
  text_.print(digits);
}

void rust_v0_grammar::boolean() {
  const auto value = hex_value(text_.hex_digits());
  if (value != 0 && value != 1) return text_.fail();
  text_.print(value == 1 ? "true" : "false");
}

void rust_v0_grammar::character() {
  const auto value = hex_value(text_.hex_digits());
  if (!value || *value < 0x20 || *value > 0x7e) return text_.fail();
  text_.print("'");
  text_.print(static_cast<char>(*value));
  text_.print("'");
}

}  // namespace heapledger::symbols

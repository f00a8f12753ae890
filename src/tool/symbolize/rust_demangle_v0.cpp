// Rust v0 mangling, RFC 2603: a recursive descent over the grammar, with limits on depth and output.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "tool/symbolize/rust_demangle.hpp"

namespace heapledger::symbols {
namespace {

constexpr int depth_limit = 200;
constexpr std::size_t output_limit_bytes = 64 * 1024;
constexpr std::size_t step_limit = 100'000;  // back references repeat work without always writing

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}

const char* basic_type(char code) {
  switch (code) {
    case 'a':
      return "i8";
    case 'b':
      return "bool";
    case 'c':
      return "char";
    case 'd':
      return "f64";
    case 'e':
      return "str";
    case 'f':
      return "f32";
    case 'h':
      return "u8";
    case 'i':
      return "isize";
    case 'j':
      return "usize";
    case 'l':
      return "i32";
    case 'm':
      return "u32";
    case 'n':
      return "i128";
    case 'o':
      return "u128";
    case 'p':
      return "_";
    case 's':
      return "i16";
    case 't':
      return "u16";
    case 'u':
      return "()";
    case 'v':
      return "...";
    case 'x':
      return "i64";
    case 'y':
      return "u64";
    case 'z':
      return "!";
    default:
      return nullptr;
  }
}

struct identifier {
  std::string_view text;
  bool punycode = false;
  std::uint64_t disambiguator = 0;
};

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  std::string demangle() {
    path(true);
    if (ok_ && position_ < text_.size() && is_upper(text_[position_])) {  // the crate that instantiated a generic
      silent_ = true;
      path(false);
    }
    return ok_ && position_ == text_.size() ? out_ : std::string();
  }

 private:
  class nested {
   public:
    explicit nested(parser& owner) : owner_(owner) {
      if (++owner_.depth_ > depth_limit || ++owner_.steps_ > step_limit) owner_.ok_ = false;
    }
    ~nested() { --owner_.depth_; }
    nested(const nested&) = delete;
    nested& operator=(const nested&) = delete;

   private:
    parser& owner_;
  };

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  char next() {
    const char c = peek();
    if (c == '\0') ok_ = false;
    ++position_;
    return c;
  }
  bool take(char c) {
    if (!ok_ || peek() != c) return false;
    ++position_;
    return true;
  }
  void print(std::string_view text) {
    if (!ok_ || silent_) return;
    if (out_.size() + text.size() > output_limit_bytes)
      ok_ = false;
    else
      out_ += text;
  }
  void print_number(std::uint64_t value) { print(std::to_string(value)); }

  std::uint64_t base62() {
    if (take('_')) return 0;
    std::uint64_t value = 0;
    while (ok_ && !take('_')) {
      const char c = next();
      const int digit = is_digit(c) ? c - '0' : is_lower(c) ? c - 'a' + 10 : is_upper(c) ? c - 'A' + 36 : -1;
      if (digit < 0 || value > (std::numeric_limits<std::uint64_t>::max() - 62) / 62) {
        ok_ = false;
        return 0;
      }
      value = value * 62 + static_cast<std::uint64_t>(digit);
    }
    return value + 1;
  }
  std::uint64_t optional_base62(char tag) { return take(tag) ? base62() + 1 : 0; }

  identifier plain_identifier() {
    identifier result;
    result.punycode = take('u');
    std::size_t length = 0;
    const char* begin = text_.data() + std::min(position_, text_.size());
    const char* end = text_.data() + text_.size();
    const auto [stop, error] = std::from_chars(begin, peek() == '0' ? begin + 1 : end, length);
    if (!ok_ || error != std::errc{}) {
      ok_ = false;
      return result;
    }
    position_ += static_cast<std::size_t>(stop - begin);
    take('_');
    if (length > text_.size() - position_) {
      ok_ = false;
      return result;
    }
    result.text = text_.substr(position_, length);
    position_ += length;
    return result;
  }
  identifier disambiguated_identifier() {
    const auto disambiguator = optional_base62('s');
    auto result = plain_identifier();
    result.disambiguator = disambiguator;
    return result;
  }
  void print(const identifier& name) {
    if (!name.punycode) return print(name.text);
    print("punycode{");
    print(name.text);
    print("}");
  }

  // Parses again from an earlier place, always strictly before the reference itself.
  template <class Parse>
  void back_reference(Parse parse) {
    const auto here = position_ - 1;
    const auto target = base62();
    if (!ok_ || target >= here) {
      ok_ = false;
      return;
    }
    if (silent_) return;
    const auto resume = position_;
    position_ = static_cast<std::size_t>(target);
    parse();
    position_ = resume;
  }

  void path(bool in_value) {
    const nested guard(*this);
    if (!ok_) return;
    switch (next()) {
      case 'C':
        return print(disambiguated_identifier());
      case 'N':
        return nested_path(in_value);
      case 'M':
        implementation_path();
        print("<");
        type();
        return print(">");
      case 'X':
        implementation_path();
        [[fallthrough]];
      case 'Y':
        print("<");
        type();
        print(" as ");
        path(false);
        return print(">");
      case 'I':
        path(in_value);
        if (in_value) print("::");
        print("<");
        list([this] { generic_argument(); });
        return print(">");
      case 'B':
        return back_reference([&] { path(in_value); });
      default:
        ok_ = false;
    }
  }

  void nested_path(bool in_value) {
    const char name_space = next();
    if (!is_lower(name_space) && !is_upper(name_space)) ok_ = false;
    path(in_value);
    const auto name = disambiguated_identifier();
    if (is_lower(name_space)) {
      if (name.text.empty()) return;
      print("::");
      return print(name);
    }
    print("::{");
    if (name_space == 'C')
      print("closure");
    else if (name_space == 'S')
      print("shim");
    else
      print(std::string_view(&name_space, 1));
    if (!name.text.empty()) {
      print(":");
      print(name);
    }
    print("#");
    print_number(name.disambiguator);
    print("}");
  }

  void implementation_path() {
    optional_base62('s');
    const bool was_silent = std::exchange(silent_, true);
    path(false);
    silent_ = was_silent;
  }

  // Items up to 'E', separated by commas; their number.
  template <class Parse>
  std::size_t list(Parse parse) {
    std::size_t count = 0;
    while (ok_ && !take('E')) {
      if (count++ > 0) print(", ");
      parse();
    }
    return count;
  }

  void generic_argument() {
    if (take('L')) return lifetime(base62());
    if (take('K')) return constant();
    type();
  }

  void lifetime(std::uint64_t index) {
    print("'");
    if (index == 0) return print("_");
    if (index > bound_lifetimes_) {
      ok_ = false;
      return;
    }
    const auto depth = bound_lifetimes_ - index;
    if (depth < 26) {
      const char letter = static_cast<char>('a' + depth);
      print(std::string_view(&letter, 1));
    } else {
      print("_");
      print_number(depth);
    }
  }

  // for<'a, 'b>: names for the lifetimes that the parsed part binds.
  template <class Parse>
  void bind_lifetimes(Parse parse) {
    const auto count = optional_base62('G');
    const auto before = bound_lifetimes_;
    if (count > 1000) ok_ = false;
    if (ok_ && count > 0) {
      print("for<");
      for (std::uint64_t i = 0; i < count; ++i) {
        if (i > 0) print(", ");
        ++bound_lifetimes_;
        lifetime(1);
      }
      print("> ");
    }
    parse();
    bound_lifetimes_ = before;
  }

  void type() {
    const nested guard(*this);
    if (!ok_) return;
    const char code = next();
    if (const char* name = basic_type(code)) return print(name);
    switch (code) {
      case 'A':
      case 'S':
        print("[");
        type();
        if (code == 'A') {
          print("; ");
          constant();
        }
        return print("]");
      case 'T': {
        print("(");
        if (list([this] { type(); }) == 1) print(",");
        return print(")");
      }
      case 'R':
      case 'Q':
        print("&");
        if (take('L')) {
          if (const auto index = base62(); index != 0) {
            lifetime(index);
            print(" ");
          }
        }
        if (code == 'Q') print("mut ");
        return type();
      case 'P':
        print("*const ");
        return type();
      case 'O':
        print("*mut ");
        return type();
      case 'F':
        return bind_lifetimes([this] { function_signature(); });
      case 'D':
        return dynamic_type();
      case 'B':
        return back_reference([this] { type(); });
      default:
        --position_;
        return path(false);
    }
  }

  void function_signature() {
    if (take('U')) print("unsafe ");
    if (take('K')) {
      print("extern \"");
      if (take('C')) {
        print("C");
      } else {
        std::string name(plain_identifier().text);
        for (char& c : name)
          if (c == '_') c = '-';
        print(name);
      }
      print("\" ");
    }
    print("fn(");
    list([this] { type(); });
    print(")");
    if (take('u')) return;
    print(" -> ");
    type();
  }

  void dynamic_type() {
    print("dyn ");
    bind_lifetimes([this] {
      bool first = true;
      while (ok_ && !take('E')) {
        if (!std::exchange(first, false)) print(" + ");
        dynamic_trait();
      }
    });
    if (!take('L')) {
      ok_ = false;
      return;
    }
    if (const auto index = base62(); index != 0) {
      print(" + ");
      lifetime(index);
    }
  }

  // A trait's own generic arguments and its associated types share one pair of angle brackets.
  void dynamic_trait() {
    bool open = trait_path();
    while (ok_ && take('p')) {
      print(std::exchange(open, true) ? ", " : "<");
      print(plain_identifier());
      print(" = ");
      type();
    }
    if (open) print(">");
  }

  bool trait_path() {
    const nested guard(*this);
    if (take('B')) {
      bool open = false;
      back_reference([&] { open = trait_path(); });
      return open;
    }
    if (!take('I')) {
      path(false);
      return false;
    }
    path(false);
    print("<");
    list([this] { generic_argument(); });
    return true;
  }

  void constant() {
    const nested guard(*this);
    if (!ok_) return;
    const char code = next();
    switch (code) {
      case 'p':
        return print("_");
      case 'B':
        return back_reference([this] { constant(); });
      case 'b':
        return boolean();
      case 'c':
        return character();
      case 'a':
      case 's':
      case 'l':
      case 'x':
      case 'n':
      case 'i':
        if (take('n')) print("-");
        [[fallthrough]];
      case 'h':
      case 't':
      case 'm':
      case 'y':
      case 'o':
      case 'j':
        return integer();
      default:
        ok_ = false;
    }
  }

  std::string_view hex_digits() {
    const auto begin = position_;
    while (is_digit(peek()) || (peek() >= 'a' && peek() <= 'f')) ++position_;
    const auto digits = text_.substr(std::min(begin, text_.size()), position_ - begin);
    if (!take('_')) ok_ = false;
    return digits;
  }
  std::optional<std::uint64_t> hex_value(std::string_view digits) {
    std::uint64_t value = 0;
    if (digits.empty()) return value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
  }
  void integer() {
    const auto digits = hex_digits();
    if (const auto value = hex_value(digits)) return print_number(*value);
    print("0x");
    print(digits);
  }
  void boolean() {
    const auto value = hex_value(hex_digits());
    if (value == 0) return print("false");
    if (value == 1) return print("true");
    ok_ = false;
  }
  void character() {
    const auto value = hex_value(hex_digits());
    if (!value || *value < 0x20 || *value > 0x7e) {
      ok_ = false;
      return;
    }
    const char text[] = {'\'', static_cast<char>(*value), '\''};
    print(std::string_view(text, sizeof text));
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::string out_;
  bool ok_ = true;
  bool silent_ = false;
  int depth_ = 0;
  std::size_t steps_ = 0;
  std::uint64_t bound_lifetimes_ = 0;
};

}  // namespace

std::string demangle_rust_v0(std::string_view name) {
  if (!name.starts_with("_R")) return {};
  name.remove_prefix(2);
  name = name.substr(0, name.find_first_of(".$"));  // what follows was added by the code generator for a copy
  if (name.empty() || !is_upper(name[0])) return {};
  return parser(name).demangle();
}

}  // namespace heapledger::symbols

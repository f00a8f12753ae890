#include "tool/symbolize/demangle_bound.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "tool/symbolize/mangled_letters.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::uint64_t bytes_per_code = 24;      // "unsigned long long", "operator delete[]", ...
constexpr std::uint64_t bytes_per_std_code = 96;  // Ss: std::basic_string<char, std::char_traits<char>, ...>
constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

std::uint64_t add(std::uint64_t a, std::uint64_t b) {
  return a > most - b ? most : a + b;
}
std::uint64_t multiply(std::uint64_t a, std::uint64_t b) {
  return b != 0 && a > most / b ? most : a * b;
}

struct bracket {
  bool nested_name = false;  // its prefixes are complete before it is
  std::uint64_t bytes = 0;
  std::uint64_t repeats = 1;  // how often a pack expansion in here may print what follows it
};

class estimate {
 public:
  explicit estimate(std::string_view text) : text_(text) {}

  std::uint64_t compute() {
    while (position_ < text_.size()) step();
    std::uint64_t total = 0;
    for (const auto& each : open_) total = add(total, each.bytes);
    return total;
  }

 private:
  char at(std::size_t index) const { return index < text_.size() ? text_[index] : '\0'; }

  void step() {
    const char c = at(position_);
    const char next = at(position_ + 1);
    if (is_digit(c)) return identifier();
    if ((c == 'S' || c == 'T') && (is_sequence(next) || next == '_')) return reference();
    if (c == 'S' && next != '\0') return standard_code();
    if (c == 'A' && is_digit(next)) return number();
    if (c == 'L' && is_lower(next)) return literal();
    if (c == 'D' && next == 'p') open_.back().repeats = multiply(open_.back().repeats, widest_pack_ + 1);
    if (c == 'C' || c == 'D') charge(longest_identifier_);  // a constructor repeats its class's name
    ++codes_;
    charge(bytes_per_code);
    const bool opens = opens_bracket();
    ++position_;
    if (opens) open_.push_back({.nested_name = c == 'N'});
    if (c == 'E') close();
  }

  // The second letter of an operator (mI, aN, pL, mL), of _Float16 (DF) or of sizeof... (sZ) opens nothing.
  bool opens_bracket() const {
    const char c = at(position_);
    const char before = position_ > 0 ? text_[position_ - 1] : '\0';
    switch (c) {
      case 'I':
        return before != 'm';
      case 'N':
        return before != 'a';
      case 'F':
        return before != 'D';
      case 'Z':
        return before != 's' && before != '_';
      case 'L':
        return !is_digit(at(position_ + 1)) && before != 'm' && before != 'p';
      case 'J':
      case 'X':
        return true;
      case 'l':
        return before == 'U';
      default:
        return false;
    }
  }

  void identifier() {
    std::size_t length = 0;
    while (is_digit(at(position_)) && length <= text_.size())
      length = length * 10 + static_cast<std::size_t>(text_[position_++] - '0');
    length = std::min(length, text_.size() - position_);
    position_ += length;
    ++codes_;
    longest_identifier_ = std::max<std::uint64_t>(longest_identifier_, length);
    charge(length + bytes_per_code);
    complete(length + bytes_per_code);
  }

  void reference() {
    ++position_;
    while (is_sequence(at(position_))) ++position_;
    if (at(position_) == '_') ++position_;
    ++codes_;
    charge(add(largest_, bytes_per_code));
  }

  void standard_code() {
    position_ += 2;
    ++codes_;
    charge(bytes_per_std_code);
    complete(bytes_per_std_code);
  }

  void number() {
    ++position_;
    while (is_digit(at(position_))) ++position_;
    charge(bytes_per_code);
  }

  void literal() {
    const std::size_t begin = position_++;
    while (position_ < text_.size() && text_[position_] != 'E') ++position_;
    ++position_;
    ++codes_;
    charge(bytes_per_code + (position_ - begin));
  }

  void charge(std::uint64_t bytes) {
    open_.back().bytes = add(open_.back().bytes, multiply(bytes, open_.back().repeats));
  }

  void complete(std::uint64_t bytes) {
    largest_ = std::max(largest_, bytes);
    if (open_.back().nested_name) largest_ = std::max(largest_, open_.back().bytes);
  }

  void close() {
    const auto bytes = open_.back().bytes;
    widest_pack_ = codes_;
    if (open_.size() == 1) return complete(bytes);
    open_.pop_back();
    charge(bytes);
    complete(bytes);
  }

  std::string_view text_;
  std::size_t position_ = 0;
  std::vector<bracket> open_{bracket{}};
  std::uint64_t largest_ = 0;  // bytes of the largest complete part
  std::uint64_t longest_identifier_ = 0;
  std::uint64_t codes_ = 0;
  std::uint64_t widest_pack_ = 0;
};

}  // namespace

std::uint64_t demangled_bound_bytes(std::string_view mangled) {
  return estimate(mangled).compute();
}

}  // namespace heapledger::symbols

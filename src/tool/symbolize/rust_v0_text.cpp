#include "tool/symbolize/rust_v0_text.hpp"

#include <charconv>
#include <limits>
#include <system_error>
#include <utility>

namespace heapledger::symbols {
namespace {

constexpr std::size_t output_limit_bytes = std::size_t{64} * 1024;

int base62_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 36;
  return -1;
}

}  // namespace

char rust_v0_text::next() {
  const char c = peek();
  if (c == '\0')
    fail();
  else
    ++position_;
  return c;
}

bool rust_v0_text::take(char c) {
  if (!ok_ || peek() != c) return false;
  ++position_;
  return true;
}

std::uint64_t rust_v0_text::base62() {
  if (take('_')) return 0;
  std::uint64_t value = 0;
  while (ok_ && !take('_')) {
    const int digit = base62_digit(next());
    if (digit < 0 || value > (std::numeric_limits<std::uint64_t>::max() - 62) / 62) {
      fail();
      return 0;
    }
    value = value * 62 + static_cast<std::uint64_t>(digit);
  }
  return value + 1;
}

std::uint64_t rust_v0_text::optional_base62(char tag) {
  return take(tag) ? base62() + 1 : 0;
}

rust_identifier rust_v0_text::identifier() {
  rust_identifier result;
  result.punycode = take('u');
  std::size_t length = 0;
  const char* begin = text_.data() + position_;
  const char* end = text_.data() + text_.size();
  const auto [stop, error] = std::from_chars(begin, peek() == '0' ? begin + 1 : end, length);
  if (!ok_ || error != std::errc{}) {
    fail();
    return result;
  }
  position_ += static_cast<std::size_t>(stop - begin);
  take('_');
  if (length > text_.size() - position_) {
    fail();
    return result;
  }
  result.text = text_.substr(position_, length);
  position_ += length;
  return result;
}

rust_identifier rust_v0_text::disambiguated_identifier() {
  const auto disambiguator = optional_base62('s');
  auto result = identifier();
  result.disambiguator = disambiguator;
  return result;
}

std::string_view rust_v0_text::hex_digits() {
  const auto begin = position_;
  while ((peek() >= '0' && peek() <= '9') || (peek() >= 'a' && peek() <= 'f')) ++position_;
  const auto digits = text_.substr(begin, position_ - begin);
  if (!take('_')) fail();
  return digits;
}

bool rust_v0_text::set_silent(bool silent) {
  return std::exchange(silent_, silent);
}

void rust_v0_text::print(std::string_view text) {
  if (!ok_ || silent_) return;
  if (out_.size() + text.size() > output_limit_bytes)
    fail();
  else
    out_ += text;
}

void rust_v0_text::print(const rust_identifier& name) {
  if (!name.punycode) return print(name.text);
  print("punycode{");
  print(name.text);
  print("}");
}

}  // namespace heapledger::symbols

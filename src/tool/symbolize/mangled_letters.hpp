// Classes of characters in mangled names. Not <cctype>'s, which go by the locale.
#pragma once

namespace heapledger::symbols {

constexpr bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
constexpr bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
constexpr bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
constexpr bool is_sequence(char c) {  // of a reference: S0_, T1A_
  return is_digit(c) || is_upper(c);
}

}  // namespace heapledger::symbols

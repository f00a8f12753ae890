#include "tool/profile/error.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "tool/profile/utf8.hpp"

namespace heapledger {

namespace {

// Line separators, marks that turn the direction of text, and invisible joiners.
bool is_hidden(std::uint32_t c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const utf8_character next = first_utf8(text);
    if (next.bytes == 0) {
      result += fmt::format("\\x{:02x}", static_cast<std::uint8_t>(text[0]));
      text.remove_prefix(1);
      continue;
    }
    if (next.code_point < 0x20 || (next.code_point >= 0x7f && next.code_point < 0xa0)) {
      result += fmt::format("\\x{:02x}", next.code_point);
    } else if (is_hidden(next.code_point)) {
      result += fmt::format("\\u{{{:x}}}", next.code_point);
    } else {
      result += text.substr(0, next.bytes);
    }
    text.remove_prefix(next.bytes);
  }
  return result;
}

input_error::input_error(std::string_view message) : std::runtime_error(printable(message)) {}

input_error::input_error(std::string_view where, std::string_view what, std::string_view what_to_do)
    : input_error(what_to_do.empty() ? fmt::format("{}: {}", where, what)
                                     : fmt::format("{}: {}; {}", where, what, what_to_do)) {}

}  // namespace heapledger

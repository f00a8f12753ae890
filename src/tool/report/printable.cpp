#include "tool/report/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "tool/report/code_width.hpp"

namespace heapledger::report {
namespace {

struct decoded {
  std::uint32_t code_point = 0;
  std::size_t bytes = 0;  // 0: not valid UTF-8
};

decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  std::uint32_t code_point = lead & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code_point = code_point << 6 | (byte(i) & 0x3fU);
  }
  const bool overlong = (length == 3 && code_point < 0x800) || (length == 4 && code_point < 0x10000);
  const bool surrogate = code_point >= 0xd800 && code_point <= 0xdfff;
  if (overlong || surrogate || code_point > 0x10ffff) return {};
  return {code_point, length};
}

// Line separators, marks that turn the direction of text, and invisible joiners.
bool is_hidden(std::uint32_t c) {
  return (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0xfeff;
}

struct character {
  std::size_t bytes;
  std::size_t columns;
};

character first_of(std::string_view text) {
  const decoded next = decode(text);
  if (next.bytes != 0) return {next.bytes, code_width(next.code_point)};
  const bool continues = (static_cast<std::uint8_t>(text[0]) & 0xc0) == 0x80;
  return {1, continues ? 0U : 1U};
}

}  // namespace

std::string terminal_text(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const decoded next = decode(text);
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

std::size_t columns(std::string_view text) {
  std::size_t sum = 0;
  while (!text.empty()) {
    const auto next = first_of(text);
    sum += next.columns;
    text.remove_prefix(next.bytes);
  }
  return sum;
}

std::string cut_right(std::string_view text, std::size_t width) {
  if (columns(text) <= width) return std::string(text);
  if (width <= 3) return std::string(width, '.');
  std::size_t end = 0;
  for (std::size_t left = width - 3;;) {
    const auto next = first_of(text.substr(end));
    if (next.columns > left) break;
    left -= next.columns;
    end += next.bytes;
  }
  return std::string(text.substr(0, end)) + "...";
}

std::string cut_left(std::string_view text, std::size_t width) {
  std::size_t all = columns(text);
  if (all <= width) return std::string(text);
  if (width <= 3) return std::string(width, '.');
  while (!text.empty()) {  // a mark that joins what was cut goes, too
    const auto next = first_of(text);
    if (all <= width - 3 && next.columns != 0) break;
    all -= next.columns;
    text.remove_prefix(next.bytes);
  }
  return "..." + std::string(text);
}

std::string padded(std::string_view text, std::size_t width) {
  const std::size_t used = columns(text);
  return std::string(text) + std::string(used < width ? width - used : 0, ' ');
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace heapledger::report

#include "tool/report/printable.hpp"

#include <fmt/format.h>

#include <cstdint>

#include "tool/profile/error.hpp"
#include "tool/profile/utf8.hpp"
#include "tool/report/code_width.hpp"

namespace heapledger::report {
namespace {

struct character {
  std::size_t bytes;
  std::size_t columns;
};

character first_of(std::string_view text) {
  const utf8_character next = first_utf8(text);
  if (next.bytes != 0) return {next.bytes, code_width(next.code_point)};
  const bool continues = (static_cast<std::uint8_t>(text[0]) & 0xc0) == 0x80;
  return {1, continues ? 0U : 1U};
}

}  // namespace

std::string terminal_text(std::string_view text) {
  return printable(text);
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
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-~";
  if (!word.empty() && word[0] != '~' && word.find_first_not_of(plain) == std::string_view::npos)
    return std::string(word);
  const bool is_safe = printable(word) == word;
  std::string quoted = is_safe ? "'" : "$'";
  for (const char c : word) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_safe) {
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted += fmt::format("\\{:03o}", byte);
    } else {
      quoted += c == '\'' || c == '\\' ? std::string({'\\', c}) : std::string(1, c);
    }
  }
  return quoted + "'";
}

std::string shell_file(std::string_view name) {
  return shell_quoted(name.starts_with('-') ? "./" + std::string(name) : std::string(name));
}

}  // namespace heapledger::report

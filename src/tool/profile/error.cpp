#include "tool/profile/error.hpp"

#include <fmt/format.h>

namespace heapledger {

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {  // U+0080 to U+009F, controls to many terminals
      result += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

input_error::input_error(std::string_view message) : std::runtime_error(printable(message)) {}

input_error::input_error(std::string_view where, std::string_view what, std::string_view what_to_do)
    : input_error(what_to_do.empty() ? fmt::format("{}: {}", where, what)
                                     : fmt::format("{}: {}; {}", where, what, what_to_do)) {}

}  // namespace heapledger

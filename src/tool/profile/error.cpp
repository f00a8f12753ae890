#include "tool/profile/error.hpp"

#include <fmt/format.h>

namespace heapledger {

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      result += fmt::format("\\x{:02x}", byte);
    } else {
      result += c;
    }
  }
  return result;
}

input_error::input_error(std::string_view message) : std::runtime_error(printable(message)) {}

input_error::input_error(std::string_view where, std::string_view what, std::string_view what_to_do)
    : input_error(what_to_do.empty() ? fmt::format("{}: {}", where, what)
                                     : fmt::format("{}: {}; {}", where, what, what_to_do)) {}

}  // namespace heapledger

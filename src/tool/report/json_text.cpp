#include "tool/report/json_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace heapledger::report {

std::string json_string(std::string_view text) {
  using nlohmann::json;
  const std::string dumped = json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
  // U+007F to U+009F are controls to a terminal, and JSON is looked at in one.
  std::string result;
  result.reserve(dumped.size());
  for (std::size_t i = 0; i < dumped.size(); ++i) {
    const auto byte = static_cast<unsigned char>(dumped[i]);
    const auto next = i + 1 < dumped.size() ? static_cast<unsigned char>(dumped[i + 1]) : 0U;
    if (byte == 0x7f) {
      result += "\\u007f";
    } else if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
      result += fmt::format("\\u{:04x}", next);
      ++i;
    } else {
      result += dumped[i];
    }
  }
  return result;
}

std::string json_seconds(std::int64_t ns) {
  constexpr std::uint64_t second = 1'000'000'000;
  const auto magnitude = ns < 0 ? 0 - static_cast<std::uint64_t>(ns) : static_cast<std::uint64_t>(ns);
  std::string text = fmt::format("{}{}.{:09}", ns < 0 ? "-" : "", magnitude / second, magnitude % second);
  while (text.ends_with('0') && !text.ends_with(".0")) text.pop_back();
  return text;
}

std::string json_address(std::uint64_t address) {
  return fmt::format("\"0x{:x}\"", address);
}

}  // namespace heapledger::report

#include "tool/report/json_text.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace heapledger::report {

std::string json_string(std::string_view text) {
  using nlohmann::json;
  return json(std::string(text)).dump(-1, ' ', false, json::error_handler_t::replace);
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

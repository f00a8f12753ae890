#include "tool/cli/values.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

namespace heapledger::cli {

std::uint32_t number_value(std::string_view source, const std::string& text, std::uint32_t low, std::uint32_t high,
                           std::string_view unit) {
  std::uint32_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= low && value <= high) return value;
  throw usage_error(fmt::format("{}: '{}' is not a whole number{}{} from {} to {}", source, text,
                                unit.empty() ? "" : " of ", unit, low, high));
}

double seconds_value(std::string_view source, const std::string& text, double low, double high) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc() && stop == end && value >= low && value <= high) return value;
  throw usage_error(fmt::format("{}: '{}' is not a number of seconds from {} to {}", source, text, low, high));
}

std::string choice_value(std::string_view source, const std::string& text, std::initializer_list<const char*> choices) {
  return choice_value(source, text, std::span(choices.begin(), choices.size()));
}

std::string choice_value(std::string_view source, const std::string& text, std::span<const char* const> choices) {
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return text;
  throw usage_error(fmt::format("{}: '{}' is none of {}", source, text, fmt::join(choices, ", ")));
}

bool truth_value(std::string_view source, const std::string& text) {
  for (const char* word : {"1", "true", "yes", "on"}) {
    if (text == word) return true;
  }
  for (const char* word : {"0", "false", "no", "off"}) {
    if (text == word) return false;
  }
  throw usage_error(fmt::format("{}: '{}' is neither yes nor no", source, text));
}

}  // namespace heapledger::cli

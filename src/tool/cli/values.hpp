// Values of options, checked. `source` is what the user wrote them for: "--depth" or "HEAPLEDGER_DEPTH".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tool/profile/error.hpp"

namespace heapledger::cli {

class usage_error : public std::runtime_error {
 public:
  explicit usage_error(std::string_view message) : std::runtime_error(printable(message)) {}  // it repeats words given
};

// `unit` is what the number counts, for the words that refuse one.
std::uint32_t number_value(std::string_view source, const std::string& text, std::uint32_t low, std::uint32_t high,
                           std::string_view unit = {});
double seconds_value(std::string_view source, const std::string& text, double low, double high);
std::string choice_value(std::string_view source, const std::string& text, std::initializer_list<const char*> choices);
std::string choice_value(std::string_view source, const std::string& text, std::span<const char* const> choices);
bool truth_value(std::string_view source, const std::string& text);

}  // namespace heapledger::cli

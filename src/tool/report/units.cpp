#include "tool/report/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace heapledger::report {

std::string bytes_text(std::int64_t bytes) {
  constexpr std::array units = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = std::abs(static_cast<double>(bytes));
  std::size_t unit = 0;
  while (unit + 1 < units.size() && value >= (unit == 0 ? 1024.0 : 1023.95)) {
    value /= 1024;
    ++unit;
  }
  const char* sign = bytes < 0 ? "-" : "";
  return unit == 0 ? fmt::format("{}{:.0f} B", sign, value) : fmt::format("{}{:.1f} {}", sign, value, units[unit]);
}

std::string count_text(std::uint64_t count) {
  std::string digits = fmt::to_string(count);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, 1, ',');
  return digits;
}

std::string signed_count_text(std::int64_t count) {
  const auto magnitude = static_cast<std::uint64_t>(count);
  return count < 0 ? "-" + count_text(0 - magnitude) : count_text(magnitude);
}

std::string counted(std::uint64_t count, const char* singular, const char* plural) {
  return fmt::format("{} {}", count_text(count), count == 1 ? singular : plural);
}

std::string percent_text(double part, double whole) {
  return fmt::format("{:5.1f} %", whole == 0 ? 0.0 : 100.0 * part / whole);
}

std::string seconds_text(std::int64_t ns) {
  const double seconds = static_cast<double>(std::max<std::int64_t>(ns, 0)) / 1e9;
  if (seconds < 0.0095) return fmt::format("{:.2f} ms", seconds * 1e3);
  if (seconds < 60) return fmt::format("{:.2f} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string life_text(std::int64_t ns) {
  if (ns < 1000) return fmt::format("{} ns", std::max<std::int64_t>(ns, 0));
  const auto value = static_cast<double>(ns);
  if (ns < 999'500) return fmt::format("{:.3g} us", value / 1e3);
  if (ns < 999'500'000) return fmt::format("{:.3g} ms", value / 1e6);
  return seconds_text(ns);
}

}  // namespace heapledger::report

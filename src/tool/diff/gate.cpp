#include "tool/diff/gate.hpp"

#include <array>
#include <limits>
#include <utility>

#include "tool/analyse/seen_peak.hpp"

namespace heapledger::diff {
namespace {

__extension__ typedef __int128 wide;  // NOLINT: ISO C++ has no such type, and a product of two counters needs it

constexpr std::int64_t millionths = 1'000'000;

struct unit {
  std::string_view name;
  std::int64_t factor;
};
constexpr std::int64_t ki = 1024;
constexpr std::array<unit, 15> units = {{{"", 1},
                                         {"B", 1},
                                         {"k", ki},
                                         {"K", ki},
                                         {"KiB", ki},
                                         {"M", ki* ki},
                                         {"MiB", ki* ki},
                                         {"G", ki* ki* ki},
                                         {"GiB", ki* ki* ki},
                                         {"TiB", ki* ki* ki* ki},
                                         {"kB", 1000},
                                         {"KB", 1000},
                                         {"MB", 1'000'000},
                                         {"GB", 1'000'000'000},
                                         {"TB", 1'000'000'000'000}}};

// Digits with at most six after a point, in millionths; takes them from `text`.
std::optional<wide> take_number(std::string_view& text) {
  wide value = 0;
  std::size_t digits = 0;
  std::size_t after_point = 0;
  bool point = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !point) {
      point = true;
    } else if (c >= '0' && c <= '9') {
      if (++digits > 18 || (point && ++after_point > 6)) return std::nullopt;
      value = value * 10 + (c - '0');
    } else {
      break;
    }
  }
  if (digits == 0 || (point && after_point == 0)) return std::nullopt;
  for (; after_point < 6; ++after_point) value *= 10;
  return value;
}

std::optional<analyse::measure> measure_of(std::string_view name) {
  if (name == "allocations") return analyse::measure::count;
  return analyse::parse_measure(name);
}

}  // namespace

std::optional<gate> parse_gate(std::string_view text) {
  gate result;
  result.text = text;
  if (const std::size_t equals = text.find('='); equals != std::string_view::npos) {
    result.by = measure_of(text.substr(0, equals));
    if (!result.by) return std::nullopt;
    text.remove_prefix(equals + 1);
  }
  const std::optional<wide> number = take_number(text);
  if (!number) return std::nullopt;
  if (text == "%") {
    if (*number > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    result.percent = true;
    result.amount = static_cast<std::int64_t>(*number);
    return result;
  }
  for (const unit& entry : units) {
    if (entry.name != text) continue;
    const wide amount = *number * entry.factor / millionths;
    if (amount > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
    result.amount = static_cast<std::int64_t>(amount);
    return result;
  }
  return std::nullopt;
}

bool is_worse(const gate& gate, std::int64_t before, std::int64_t after) {
  const wide growth = static_cast<wide>(after) - before;
  if (growth <= 0) return false;
  if (!gate.percent) return growth > gate.amount;
  return growth * 100 * millionths > static_cast<wide>(before) * gate.amount;
}

std::int64_t value_before(const comparison& compared, analyse::measure by) {
  return by == analyse::measure::peak ? analyse::known_peak_bytes(compared.before())
                                      : analyse::value_of(compared.total_before(), by);
}

std::int64_t value_after(const comparison& compared, analyse::measure by) {
  return by == analyse::measure::peak ? analyse::known_peak_bytes(compared.after())
                                      : analyse::value_of(compared.total_after(), by);
}

}  // namespace heapledger::diff

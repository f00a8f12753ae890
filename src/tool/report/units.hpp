// Numbers for people: "12.3 MiB", "1,234,567", "62.1 %", "1.24 s".
#pragma once

#include <cstdint>
#include <string>

namespace heapledger::report {

std::string bytes_text(std::int64_t bytes);
inline std::string bytes_text(std::uint64_t bytes) {
  return bytes_text(static_cast<std::int64_t>(bytes));
}
std::string count_text(std::uint64_t count);
std::string signed_count_text(std::int64_t count);
// "1 block", "2 blocks".
std::string counted(std::uint64_t count, const char* singular, const char* plural);
std::string percent_text(double part, double whole);  // five characters and " %": " 62.1 %"; "0.0 %" of nothing
std::string seconds_text(std::int64_t ns);
std::string life_text(std::int64_t ns);  // from nanoseconds on: "312 ns", "4.2 us"

}  // namespace heapledger::report

#include "tool/report/uncounted_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t programs_shown = 6;

std::string reason_text(const std::string& reason) {
  constexpr std::pair<std::string_view, const char*> texts[] = {
      {"static", "statically linked"},
      {"sanitizer", "has a sanitizer"},
      {"other-libc", "another C library"},
      {"other-machine", "not for this machine"},
      {"privileged", "set-user-ID, set-group-ID or capabilities, or started while effective and real IDs differed"},
      {"out-of-reach", "the probe, or the folder for its books, is out of reach"},
      {"descriptors", "no descriptor was left for its books: ulimit -n"},
      {"address-space", "too little address space for its books: ulimit -v"},
      {"data", "too little data for its books: ulimit -d"},
      {"file-size", "its files may not be as large as its books: ulimit -f"},
  };
  const auto* const known =
      std::find_if(std::begin(texts), std::end(texts), [&](const auto& text) { return text.first == reason; });
  return known == std::end(texts) ? terminal_text(reason) : known->second;
}

}  // namespace

std::string uncounted_text(std::vector<uncounted_info> programs) {
  std::stable_sort(programs.begin(), programs.end(), [](const auto& a, const auto& b) {
    return a.path.empty() != b.path.empty() ? b.path.empty() : a.times > b.times;
  });
  std::string text;
  std::uint64_t others = 0;
  for (std::size_t i = 0; i < programs.size(); ++i) {
    const auto& program = programs[i];
    if (i >= programs_shown || program.path.empty()) {
      others += program.times;
      continue;
    }
    text += fmt::format("{}{} ({}{})", text.empty() ? "" : ", ", terminal_text(program.path),
                        program.times == 1 ? "" : fmt::format("{} times; ", count_text(program.times)),
                        reason_text(program.reason));
  }
  if (others != 0) text += fmt::format("{}{} of others", text.empty() ? "" : ", ", counted(others, "start", "starts"));
  return text;
}

}  // namespace heapledger::report

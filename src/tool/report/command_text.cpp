#include "tool/report/command_text.hpp"

#include <algorithm>

#include "tool/report/printable.hpp"

namespace heapledger::report {

std::string command_text(const std::vector<std::string>& words, const std::string& exe, const char* unknown) {
  constexpr std::ptrdiff_t arguments = 2;  // more empty ones nobody types at the end
  auto end = words.end();
  while (end != words.begin() && end[-1].empty()) --end;
  if (words.end() - end <= arguments) end = words.end();
  std::string text;
  std::for_each(words.begin(), end, [&](const auto& word) { text += (text.empty() ? "" : " ") + shell_quoted(word); });
  if (text.empty()) text = exe.empty() ? unknown : exe;
  return terminal_text(text);
}

}  // namespace heapledger::report

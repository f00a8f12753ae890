#include "tool/report/distinct_names.hpp"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t most_columns = 40;

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

// The end of what is opened before it and not closed.
std::size_t after_closing(const std::string& text, std::size_t begin, std::size_t end) {
  int depth = 0;
  for (std::size_t i = begin; i < text.size() && (i < end || depth > 0); ++i) {
    if (text[i] == '<' || text[i] == '(') ++depth;
    if (text[i] == '>' || text[i] == ')') --depth;
    end = std::max(end, i + 1);
  }
  return end;
}

// Of "record, std::allocator<record>" what the second follows from.
std::string first_argument(const std::string& part) {
  int depth = 0;
  for (std::size_t i = 0; i < part.size(); ++i) {
    if (part[i] == '<' || part[i] == '(') ++depth;
    if (part[i] == '>' || part[i] == ')') --depth;
    if (depth < 0 || (part[i] == ',' && depth == 0)) return part.substr(0, i);
  }
  return part;
}

std::size_t different(const std::vector<std::string>& texts) {
  return std::set<std::string_view>(texts.begin(), texts.end()).size();
}

}  // namespace

std::vector<std::string> differing_parts(const std::vector<std::string>& names) {
  if (names.empty()) return {};
  std::size_t before = names.front().size(), behind = before;
  for (const auto& name : names) {
    const auto& first = names.front();
    before = std::min<std::size_t>(
        before, std::mismatch(name.begin(), name.end(), first.begin(), first.end()).first - name.begin());
    behind = std::min<std::size_t>(
        behind, std::mismatch(name.rbegin(), name.rend(), first.rbegin(), first.rend()).first - name.rbegin());
  }
  while (before > 0 && is_word(names.front()[before - 1])) --before;
  std::vector<std::string> parts;
  for (const auto& name : names) {
    std::size_t end = std::max(before, name.size() - behind);
    while (end < name.size() && is_word(name[end])) ++end;
    parts.push_back(name.substr(before, after_closing(name, before, end) - before));
  }
  if (different(parts) == 1) return std::vector<std::string>(parts.size());
  std::vector<std::string> arguments(parts.size());
  std::transform(parts.begin(), parts.end(), arguments.begin(), first_argument);
  return different(arguments) == different(parts) ? arguments : parts;
}

std::vector<std::string> distinguishing_words(const std::vector<shown_name>& names) {
  std::map<std::string_view, std::vector<std::size_t>> by_look;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (!names[i].function.empty()) by_look[names[i].look].push_back(i);
  std::vector<std::string> words(names.size());
  for (const auto& [look, alike] : by_look) {
    if (alike.size() == 1) continue;
    std::vector<std::string> whole;
    for (const auto i : alike) whole.push_back(short_function(names[i].function, SIZE_MAX));
    const auto parts = differing_parts(whole);
    for (std::size_t i = 0; i < alike.size(); ++i)
      if (!parts[i].empty()) words[alike[i]] = " [" + cut_right(parts[i], most_columns) + "]";
  }
  return words;
}

}  // namespace heapledger::report

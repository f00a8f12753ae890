#include "tool/report/names.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "tool/analyse/function_name.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::report {
namespace {

bool starts_arguments(std::string_view name, std::size_t i) {
  return name[i] == '<' && i > 0 && name[i - 1] != ' ';
}

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) {
    text.replace(at, from.size(), to);
  }
}

// [abi:cxx11], and [abi:ne190107] of all that libc++ has.
void remove_abi_tags(std::string& text) {
  for (std::size_t at = 0; (at = text.find("[abi:", at)) != std::string::npos;) {
    const std::size_t end = text.find(']', at);
    if (end == std::string::npos) return;
    text.erase(at, end + 1 - at);
  }
}

// Spellings that say nothing to a reader.
std::string plain_spelling(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> known = {{
      {"(anonymous namespace)::", ""},
      {"> >", ">>"},
      {"> >", ">>"},  // ">> >" is left by the first pass
      {"std::__cxx11::", "std::"},
      {"std::__1::", "std::"},
      {"std::basic_string<char, std::char_traits<char>, std::allocator<char>>", "std::string"},
      {"std::basic_string_view<char, std::char_traits<char>>", "std::string_view"},
  }};
  std::string result(name);
  remove_abi_tags(result);
  for (const auto& [from, to] : known) replace_all(result, from, to);
  return result;
}

// Template arguments nested deeper than `kept` become "...".
std::string collapse_arguments(std::string_view name, std::size_t kept, std::size_t& deepest) {
  std::string result;
  std::size_t depth = 0;
  deepest = 0;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (const std::size_t length = analyse::operator_length(name, i); length != 0) {
      if (depth <= kept) result += name.substr(i, length);
      i += length - 1;
      continue;
    }
    const bool opens = name[i] == '<' && (depth > 0 || starts_arguments(name, i));
    const bool closes = name[i] == '>' && depth > 0 && name[i - 1] != '-';
    if (closes) --depth;
    if (depth <= kept) result += name[i];
    if (opens) {
      ++depth;
      deepest = std::max(deepest, depth);
      if (depth == kept + 1) result += "...";
    }
  }
  return result;
}

// Where `part` stands outside of brackets; npos: nowhere. The last such place where `last` is asked for.
std::size_t find_outside(std::string_view text, std::string_view part, bool last) {
  std::size_t found = std::string_view::npos;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if ((c == '>' && (i == 0 || text[i - 1] != '-')) || c == ')' || c == '}' || c == ']') --depth;
    if (depth != 0 || !text.substr(i).starts_with(part)) continue;
    found = i;
    if (!last) break;
  }
  return found;
}

std::string_view without_path(std::string_view type) {
  const std::size_t at = find_outside(type, "::", true);
  if (at == std::string_view::npos || find_outside(type, " ", false) != std::string_view::npos) return type;
  return type.substr(at + 2);
}

// "<a::T as b::Trait>::f", as Rust names what belongs to a type, is "<T as Trait>::f", and then "<T>::f".
std::string without_paths_of_type(const std::string& name, std::size_t width) {
  if (!name.starts_with('<')) return name;
  const std::size_t end = find_outside(name, ">::", false);
  if (end == std::string::npos) return name;
  const std::string_view rest = std::string_view(name).substr(end);
  const std::string_view inside = std::string_view(name).substr(1, end - 1);
  const std::size_t as = find_outside(inside, " as ", false);
  const std::string type = "<" + std::string(without_path(inside.substr(0, as)));
  if (as != std::string_view::npos) {
    std::string with_trait = type;
    with_trait.append(" as ").append(without_path(inside.substr(as + 4))).append(rest);
    if (columns(with_trait) <= width) return with_trait;
  }
  std::string result = type;
  return result.append(rest);
}

// "a::b::c" without so many outer scopes that it fits; all that stand outside of brackets when it does not even then.
std::string without_outer_scopes(std::string name, std::size_t width) {
  constexpr std::string_view mark = "...::";
  const std::string_view all = name;
  std::size_t left = columns(all), begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i + 2 < all.size() && left > width; ++i) {
    if (analyse::operator_length(all, i) != 0) break;
    const char c = all[i];
    if (c == '<' || c == '(' || c == '{' || c == '[') ++depth;
    if (c == '>' || c == ')' || c == '}' || c == ']') --depth;
    if (depth != 0 || c != ':' || all[i + 1] != ':') continue;
    const std::size_t next = i + 2;
    left -= columns(all.substr(begin, next - begin));
    if (begin == 0) left += mark.size();
    begin = next;
    i = next - 1;
  }
  return begin == 0 ? name : std::string(mark) + name.substr(begin);
}

}  // namespace

std::string short_function(std::string_view function, std::size_t width) {
  constexpr std::size_t longest_looked_at = 64 * 1024;
  std::string name = plain_spelling(analyse::qualified_name(function.substr(0, longest_looked_at)));
  if (name.size() > width) {
    std::size_t deepest = 0;
    collapse_arguments(name, SIZE_MAX, deepest);
    std::string collapsed = name;
    for (std::size_t kept = std::min<std::size_t>(deepest, 8); kept-- > 0 && collapsed.size() > width;) {
      std::size_t ignored = 0;
      collapsed = collapse_arguments(name, kept, ignored);
    }
    name = std::move(collapsed);
  }
  std::string safe = terminal_text(name);
  if (columns(safe) > width) safe = without_paths_of_type(safe, width);
  safe = without_outer_scopes(safe, width);
  if (columns(safe) > width && safe.ends_with("<...>")) safe.resize(safe.size() - 5);
  return cut_right(safe, width);
}

std::string short_address(std::string_view name, std::size_t width) {
  const std::string safe = terminal_text(name);
  const std::size_t at = std::min(safe.rfind("+0x"), safe.size());
  const std::string_view whole = safe, offset = whole.substr(at);
  const std::size_t room = offset.empty() ? width : width > offset.size() ? width - offset.size() : 1;
  return cut_right(whole.substr(0, at), room).append(offset);
}

std::string_view file_part(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos || slash + 1 == path.size() ? path : path.substr(slash + 1);
}

std::string short_path(std::string_view path, std::size_t width) {
  const std::string safe = terminal_text(path);
  std::string_view kept = file_part(safe);
  // One folder is enough to tell files of one name apart; more only lengthens the line.
  if (kept.size() < safe.size()) {
    const std::size_t before = safe.size() - kept.size() - 1;
    const std::size_t slash = before == 0 ? std::string::npos : safe.rfind('/', before - 1);
    const std::string_view longer = std::string_view(safe).substr(slash == std::string::npos ? 0 : slash + 1);
    if (columns(longer) <= width && !longer.starts_with("../") && !longer.starts_with("./")) kept = longer;
  }
  return cut_left(kept, width);
}

}  // namespace heapledger::report

#include "tool/leaks/suppressions.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/function_name.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::leaks {
namespace {

constexpr std::size_t longest_file = std::size_t{16} << 20;

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

// The file may be no text file at all, and then a line has any length.
std::string shown(std::string_view text) {
  constexpr std::size_t most = 80;
  if (text.size() <= most) return std::string(text);
  std::size_t end = most - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80) --end;
  return std::string(text.substr(0, end)) + "...";
}

// Greedy from the left: with `*` alone as wildcard, the earliest match of each piece leaves most to the others.
bool pieces_match(std::string_view pattern, std::string_view name, bool from_begin, bool to_end) {
  for (;;) {
    const auto star = pattern.find('*');
    const bool last = star == std::string_view::npos;
    const auto piece = pattern.substr(0, star);
    if (last && to_end) {
      return name.size() >= piece.size() && (from_begin ? name == piece : name.ends_with(piece));
    }
    const auto at = from_begin ? (name.starts_with(piece) ? 0 : std::string_view::npos) : name.find(piece);
    if (at == std::string_view::npos) return false;
    if (last) return true;
    name.remove_prefix(at + piece.size());
    pattern.remove_prefix(star + 1);
    from_begin = false;
  }
}

}  // namespace

bool pattern_matches(std::string_view pattern, std::string_view name) {
  if (name.empty()) return false;
  const bool from_begin = pattern.starts_with('^');
  if (from_begin) pattern.remove_prefix(1);
  const bool to_end = pattern.ends_with('$');
  if (to_end) pattern.remove_suffix(1);
  return pieces_match(pattern, name, from_begin, to_end);
}

bool pattern_matches_function(std::string_view pattern, std::string_view name) {
  if (pattern_matches(pattern, name)) return true;
  const bool has_ends = pattern.starts_with('^') || pattern.ends_with('$');  // else what is in a part is in the whole
  return has_ends && pattern_matches(pattern, analyse::qualified_name(name));
}

bool pattern_matches_address(std::string_view pattern, const profile& p, const location& place) {
  return pattern.find("+0x") != std::string_view::npos && pattern_matches(pattern, analyse::address_name(p, place));
}

suppressions suppressions::read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw input_error(path, std::strerror(errno), "--suppressions needs a file that can be read");
  std::string text(longest_file + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file.eof() && file.gcount() == 0))
    throw input_error(path, "cannot be read", "--suppressions needs a file");
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > longest_file) throw input_error(path, "too large for suppressions", "16 MiB is the most");
  return parse(text, path);
}

suppressions suppressions::parse(std::string_view text, std::string_view name) {
  suppressions result;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.empty() || line.front() == '#') continue;
    const auto where = fmt::format("{}:{}", name, number);
    const auto colon = line.find(':');
    if (colon == std::string_view::npos)
      throw input_error(where, fmt::format("'{}' is no suppression", shown(line)),
                        "write leak:PATTERN, or # and a comment");
    const auto kind = trimmed(line.substr(0, colon));
    const auto pattern = trimmed(line.substr(colon + 1));
    if (kind != "leak")
      throw input_error(where, fmt::format("'{}' is no kind of suppression here", shown(kind)), "write leak:PATTERN");
    if (pattern.empty() || pattern.find_first_not_of("*^$") == std::string_view::npos)
      throw input_error(where, "the pattern is empty", "write what is to match, such as leak:libfoo.so");
    result.patterns_.emplace_back(pattern);
  }
  return result;
}

bool suppressions::matches(const profile& p, std::uint32_t node) const {
  bool found = false;
  if (patterns_.empty()) return found;
  analyse::walk_stack(p, node, [&](const analyse::frame_ref& frame) {
    const auto module = analyse::module_index(p, frame);
    const std::string_view path = module == none ? std::string_view() : std::string_view(p.modules[module].path);
    for (const auto& pattern : patterns_) {
      found = pattern_matches_function(pattern, analyse::function_name(p, frame)) ||
              pattern_matches(pattern, analyse::file_name(p, frame)) || pattern_matches(pattern, path) ||
              pattern_matches_address(pattern, p, p.locations[frame.location]);
      if (found) return false;
    }
    return true;
  });
  return found;
}

}  // namespace heapledger::leaks

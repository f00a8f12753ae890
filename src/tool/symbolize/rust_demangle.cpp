#include "tool/symbolize/rust_demangle.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include "tool/symbolize/mangled_letters.hpp"

namespace heapledger::symbols {
namespace {

constexpr std::size_t hash_digits = 16;

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f');
}

void append_utf8(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

// The text between two '$', or nothing when it is no escape that the compiler writes.
std::optional<std::string> unescape(std::string_view escape) {
  static constexpr std::array<std::pair<std::string_view, char>, 8> named = {
      {{"SP", '@'}, {"BP", '*'}, {"RF", '&'}, {"LT", '<'}, {"GT", '>'}, {"LP", '('}, {"RP", ')'}, {"C", ','}}};
  for (const auto& [name, character] : named)
    if (escape == name) return std::string(1, character);
  if (escape.size() < 2 || escape.size() > 7 || escape[0] != 'u') return std::nullopt;
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(escape.data() + 1, escape.data() + escape.size(), code, 16);
  const bool surrogate = code >= 0xd800 && code < 0xe000;
  if (error != std::errc{} || end != escape.data() + escape.size() || code < 0x20 || code > 0x10ffff || surrogate)
    return std::nullopt;
  std::string text;
  append_utf8(text, code);
  return text;
}

void append_legacy_part(std::string& out, std::string_view part) {
  if (part.starts_with("_$")) part.remove_prefix(1);
  while (!part.empty()) {
    if (part.starts_with("..")) {
      out += "::";
      part.remove_prefix(2);
      continue;
    }
    if (part[0] == '$') {
      const auto end = part.find('$', 1);
      const auto text = end == std::string_view::npos ? std::nullopt : unescape(part.substr(1, end - 1));
      if (text) {
        out += *text;
        part.remove_prefix(end + 1);
        continue;
      }
    }
    out += part[0];
    part.remove_prefix(1);
  }
}

bool is_hash(std::string_view part) {
  return part.size() == hash_digits + 1 && part[0] == 'h' && std::all_of(part.begin() + 1, part.end(), is_hex);
}

}  // namespace

std::string demangle_rust_legacy(std::string_view name) {
  if (!name.starts_with("_ZN")) return {};
  name.remove_prefix(3);
  std::string out;
  std::string_view pending;  // one part behind: the last is the hash
  while (!name.empty() && name[0] != 'E') {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), length);
    if (error != std::errc{}) return {};
    name.remove_prefix(static_cast<std::size_t>(end - name.data()));
    if (length == 0 || length > name.size()) return {};
    if (!pending.empty()) {
      if (!out.empty()) out += "::";
      append_legacy_part(out, pending);
    }
    pending = name.substr(0, length);
    name.remove_prefix(length);
  }
  if (name.empty() || !is_hash(pending) || out.empty()) return {};
  name.remove_prefix(1);
  if (!name.empty() && name[0] != '.') return {};  // .llvm.1234: added by the code generator for a copy
  return out;
}

}  // namespace heapledger::symbols

#include "tool/diff/identity.hpp"

#include <algorithm>
#include <array>

namespace heapledger::diff {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

constexpr std::array<std::string_view, 8> copies = {".constprop", ".isra",     ".part",       ".cold",
                                                    ".llvm",      ".lto_priv", ".localalias", ".clone"};

// ".isra.0.cold" ends a name; ".isra_table" does not.
bool is_copy_suffix(std::string_view rest) {
  return std::any_of(copies.begin(), copies.end(), [&](std::string_view copy) {
    return rest.starts_with(copy) && (rest.size() == copy.size() || rest[copy.size()] == '.');
  });
}

}  // namespace

std::string_view same_function(std::string_view name) {
  if (const std::size_t clone = name.find(" [clone "); clone != std::string_view::npos && clone != 0) {
    return name.substr(0, clone);
  }
  for (std::size_t dot = name.find('.', 1); dot != std::string_view::npos; dot = name.find('.', dot + 1)) {
    if (is_copy_suffix(name.substr(dot))) return name.substr(0, dot);
  }
  return name;
}

std::string_view same_module(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
  const std::size_t version = name.rfind(".so.");
  if (version == std::string_view::npos) return name;
  const std::string_view digits = name.substr(version + 4);
  const bool all = std::all_of(digits.begin(), digits.end(), [](char c) { return is_digit(c) || c == '.'; });
  return all ? name.substr(0, version + 3) : name;
}

}  // namespace heapledger::diff

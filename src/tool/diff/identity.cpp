#include "tool/diff/identity.hpp"

#include <algorithm>
#include <array>

namespace heapledger::diff {
namespace {

constexpr std::array<std::string_view, 8> copies = {".constprop", ".isra",     ".part",       ".cold",
                                                    ".llvm",      ".lto_priv", ".localalias", ".clone"};

// ".isra.0.cold" ends a name; ".isra_table" does not.
bool is_copy_suffix(std::string_view rest) {
  return std::any_of(copies.begin(), copies.end(), [&](std::string_view copy) {
    return rest.starts_with(copy) && (rest.size() == copy.size() || rest[copy.size()] == '.');
  });
}

std::string_view without_folders(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

// Each package of Python has an __init__.py.
std::string_view source_file(std::string_view path) {
  const std::string_view name = without_folders(path);
  if (!name.starts_with("__") || name.size() == path.size()) return name;
  const std::string_view folder = path.substr(0, path.size() - name.size() - 1);
  return path.substr(path.size() - name.size() - 1 - without_folders(folder).size());
}

constexpr std::string_view ending = ".so";

// "libLLVM-14" and "libpython3.11"; the 3 of "libz3" is of the name.
std::string_view without_version(std::string_view stem) {
  const std::size_t end = stem.find_last_not_of("0123456789.");
  if (end == std::string_view::npos || end + 1 == stem.size()) return stem;
  if (stem[end] == '-') return stem.substr(0, end);
  return stem.find('.', end) == std::string_view::npos ? stem : stem.substr(0, end + 1);
}

std::string_view without_number(std::string_view text) {
  const std::size_t end = text.find_last_not_of("0123456789");
  return end != std::string_view::npos && end + 1 < text.size() && text[end] == ':' ? text.substr(0, end) : text;
}

}  // namespace

std::string same_generated_function(std::string_view name) {
  if (name.starts_with("py::")) {
    const std::size_t file = name.rfind(':') + 1;
    if (name[file - 2] == ':') return {};  // C++
    return std::string(name.substr(0, file)).append(source_file(name.substr(file)));
  }
  constexpr std::array<std::string_view, 5> of_v8 = {"JS:", "LazyCompile:", "Function:", "Script:", "Eval:"};
  const auto kind =
      std::find_if(of_v8.begin(), of_v8.end(), [&](std::string_view each) { return name.starts_with(each); });
  const std::size_t blank = name.find(' ');
  if (kind == of_v8.end() || blank == std::string_view::npos) return {};
  std::string_view function = name.substr(kind->size(), blank - kind->size());
  if (!function.empty() && std::string_view("~^+*-").find(function.front()) != std::string_view::npos)
    function.remove_prefix(1);
  const std::string_view file = without_number(without_number(name.substr(blank + 1)));
  return std::string("JS:").append(function).append(" ").append(source_file(file));
}

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
  std::string_view name = without_folders(path);
  if (const std::size_t version = name.rfind(".so."); version != std::string_view::npos) {
    if (name.find_first_not_of("0123456789.", version + 4) == std::string_view::npos)
      name = name.substr(0, version + ending.size());
  }
  if (!name.ends_with(ending)) return name;
  const std::string_view stem = name.substr(0, name.size() - ending.size());
  const std::string_view shorter = without_version(stem.substr(0, stem.find(".cpython-")));
  return shorter == stem ? name : shorter;
}

}  // namespace heapledger::diff

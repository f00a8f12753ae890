#include "tool/symbolize/demangle.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "tool/symbolize/demangle_bound.hpp"
#include "tool/symbolize/older_mangling.hpp"
#include "tool/symbolize/rust_demangle.hpp"

namespace heapledger {
namespace {

// Real names of the heaviest template libraries stay below; the estimate is far above what they expand to.
constexpr std::uint64_t bound_limit_bytes = std::uint64_t{1} << 30;

std::string demangle_whole(std::string_view name) {
  if (symbols::demangled_bound_bytes(name) > bound_limit_bytes) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(std::string(name).c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : std::string();
}

// A requires-clause, Q in the mangling, is newer than many a library's demangler, and those of GCC 14 and 16 cannot
// read what their own compilers make of members and of requires-expressions. The function's name is what stands before
// it: at the end of the whole, or at the end of template arguments, which are then to be closed. What follows those,
// the types of the parameters, counts on what is in the clause and goes with it.
std::string demangle_before_clause(const std::string& name) {
  std::string text;
  constexpr int most_clauses = 8;
  std::size_t clause = name.size();
  for (int tries = 0; text.empty() && tries < most_clauses; ++tries) {
    clause = name.rfind('Q', clause - 1);
    if (clause == std::string_view::npos || clause < 3) break;
    for (const char* closed : {"", "E", "EE"})
      if (text.empty()) text = demangle_whole(name.substr(0, clause) + closed);
  }
  return text;
}

// The shortest beginning that is a name, mostly without the types of the parameters; or what stands before template
// arguments that cannot be told.
std::string demangle_beginning(const symbols::older_name& name) {
  std::string text;
  constexpr int most_tries = 64;
  auto end = name.left_out_at;
  for (int tries = 0; text.empty() && tries < most_tries; ++tries) {
    end = name.text.find('E', end);
    if (end >= name.right_until) break;
    text = demangle_whole(name.text.substr(0, ++end));
  }
  auto before = name.text.substr(0, name.left_out_at);
  if (before.ends_with('I')) before.pop_back();
  for (const char* closed : {"", "E", "EE"})
    if (text.empty()) text = demangle_whole(before + closed);
  return text;
}

std::string demangle_cpp(std::string_view name) {
  std::string text = demangle_whole(name);
  if (!text.empty()) return text;
  const auto older = symbols::in_older_mangling(name);
  if (older.right_until == older.text.size()) {
    if (older.text != name) text = demangle_whole(older.text);
    if (text.empty()) text = demangle_before_clause(older.text);
  }
  return text.empty() && older.left_out_at != std::string::npos ? demangle_beginning(older) : text;
}

}  // namespace

bool is_mangled(std::string_view name) {
  return name.starts_with("_Z") || name.starts_with("_R");
}

std::string_view coroutine_of(std::string_view symbol) {
  const auto body = symbol.substr(std::min(symbol.find('.'), symbol.size()));
  for (const char* part : {".resume", ".destroy", ".cleanup"})
    if (body.starts_with(part) && is_mangled(symbol)) return symbol.substr(0, symbol.size() - body.size());
  constexpr std::string_view frame = ".Frame";
  const std::size_t dot = symbol.find(".Frame.");
  if (dot == std::string_view::npos) return {};
  const std::size_t end = dot + frame.size();
  for (std::size_t at = symbol.rfind("_Z", dot); at != 0 && at != std::string_view::npos;
       at = symbol.rfind("_Z", at - 1)) {
    if (symbol.substr(0, at).ends_with(std::to_string(end - at))) return symbol.substr(at, dot - at);
  }
  return {};
}

std::string demangle(std::string_view name) {
  if (!is_mangled(name) || name.size() > mangled_name_limit_bytes) return std::string(name);
  std::string text;
  if (name.starts_with("_R")) {
    text = symbols::demangle_rust_v0(name);
  } else {
    text = symbols::demangle_rust_legacy(name);
    if (text.empty()) text = demangle_cpp(name);
  }
  return text.empty() || text.size() > demangled_name_limit_bytes ? std::string(name) : text;
}

}  // namespace heapledger

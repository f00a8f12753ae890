#include "tool/analyse/function_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace heapledger::analyse {
namespace {

// To scan takes time that grows with the square of the length, and a profile may hold names of any length.
constexpr std::size_t longest_scanned = 64 * 1024;

bool is_identifier(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

struct layout {
  std::size_t begin = 0;  // of the qualified name: what stands before is a return type
  std::size_t end = 0;    // where the parameters begin
  std::size_t base = 0;   // of its last component
};

// One past the bracket that closes the one at `position`; npos when none does.
std::size_t closing_bracket(std::string_view name, std::size_t position) {
  int depth = 0;
  for (std::size_t i = position; i < name.size(); ++i) {
    if (const std::size_t length = operator_length(name, i); length != 0) {
      i += length - 1;
      continue;
    }
    const char c = name[i];
    if (c == '<' || c == '[' || c == '{' || c == '(') ++depth;
    if (c == '>' && name[i - 1] == '-') continue;  // -> in a lambda's or a Rust function's type
    if ((c == '>' || c == ']' || c == '}' || c == ')') && --depth == 0) return i + 1;
  }
  return std::string_view::npos;
}

// What may stand between a parameter list and "::" when the list is of an enclosing function: f(int)::local.
bool encloses(std::string_view after_parameters) {
  if (after_parameters.starts_with(" const")) after_parameters.remove_prefix(6);
  return after_parameters.starts_with("::");
}

layout scan(std::string_view name) {
  const layout whole{0, name.size(), 0};
  layout result = whole;
  bool saw_name = false;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (const std::size_t length = operator_length(name, i); length != 0) {
      i += length - 1;
      saw_name = true;
      continue;
    }
    const char c = name[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') {
      const std::size_t close = closing_bracket(name, i);
      if (close == std::string_view::npos) return whole;
      const bool is_decltype = name.substr(0, i).ends_with("decltype") || name.substr(0, i).ends_with("decltype ");
      if (c == '(' && saw_name && !is_decltype && !encloses(name.substr(close))) {
        result.end = i;
        return result;
      }
      saw_name = saw_name || c != '(' || name.substr(i).starts_with("(anonymous");
      i = close - 1;
    } else if (c == '>' || c == ')' || c == ']' || c == '}') {
      return whole;
    } else if (c == ' ') {
      if (name.substr(i).starts_with(" [") || name.substr(i).starts_with(" (.")) {  // [clone .part.0]
        result.end = i;
        return result;
      }
      const bool in_name =
          name.substr(i).starts_with(" const::") || name.substr(i).starts_with(" <");  // operator<< <a>
      if (in_name && saw_name) continue;
      result.begin = result.base = i + 1;
      saw_name = false;
    } else if (name.substr(i).starts_with("::")) {
      result.base = i + 2;
      ++i;
    } else {
      saw_name = true;
    }
  }
  return result;
}

}  // namespace

std::size_t operator_length(std::string_view name, std::size_t position) {
  constexpr std::string_view word = "operator";
  if (!name.substr(position).starts_with(word)) return 0;
  if (position > 0 && is_identifier(name[position - 1])) return 0;
  const std::string_view rest = name.substr(position + word.size());
  if (rest.empty() || is_identifier(rest.front())) return 0;
  // Longest first: "<<=" before "<<" before "<".
  constexpr std::array symbols = {
      " new[]", " delete[]", " new", " delete", "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "==", "!=", "->",
      "()",     "[]",        "&&",   "||",      "++",  "--",  "+=",  "-=",  "*=", "/=", "%=", "&=", "|=", "^=", "<",
      ">",      "+",         "-",    "*",       "/",   "%",   "&",   "|",   "^",  "~",  "!",  "=",  ","};
  for (const std::string_view symbol : symbols) {
    if (rest.starts_with(symbol)) return word.size() + symbol.size();
  }
  if (rest.starts_with("\"\"")) {  // of a literal: operator"" _kb
    const std::size_t end = rest.find_first_of("(<[");
    return end == std::string_view::npos ? 0 : word.size() + end;
  }
  if (rest.front() != ' ') return 0;
  // A conversion: "operator std::string", up to the parameters.
  const std::size_t end = rest.find('(');
  return end == std::string_view::npos ? 0 : word.size() + end;
}

std::string_view qualified_name(std::string_view function) {
  function = function.substr(0, longest_scanned);
  const layout parts = scan(function);
  const std::string_view name = function.substr(parts.begin, parts.end - parts.begin);
  return name.empty() ? function : name;
}

std::string plain_name(std::string_view function) {
  const std::string_view name = qualified_name(function);
  std::string plain;
  for (std::size_t i = 0; i < name.size();) {
    constexpr std::string_view of_enclosing = " const";
    if (name.substr(i).starts_with(" const::")) i += of_enclosing.size();
    std::size_t length = std::max<std::size_t>(operator_length(name, i), 1);
    if (length == 1 && std::string_view("(<[{").find(name[i]) != std::string_view::npos) {
      const std::size_t close = closing_bracket(name, i);
      if (close == std::string_view::npos) return std::string(name);
      const std::string_view part = name.substr(i, close - i);
      if (part.starts_with("{lambda")) plain += "{lambda}";
      if (part.starts_with("(anonymous") || part.starts_with("{unnamed")) plain += part;
      length = part.size();
    } else {
      plain += name.substr(i, length);
    }
    i += length;
  }
  return plain;
}

bool has_parameters(std::string_view function) {
  return function.substr(scan(function.substr(0, longest_scanned)).end).starts_with('(');
}

std::string_view base_name(std::string_view function) {
  function = function.substr(0, longest_scanned);
  const layout parts = scan(function);
  if (parts.base >= parts.end) return function;
  std::string_view base = function.substr(parts.base, parts.end - parts.base);
  if (operator_length(base, 0) != 0) return base;
  const std::size_t arguments = base.find('<');
  if (arguments != std::string_view::npos && arguments > 0) base = base.substr(0, arguments);
  const std::size_t tag = base.find('[');
  return tag != std::string_view::npos && tag > 0 ? base.substr(0, tag) : base;
}

}  // namespace heapledger::analyse

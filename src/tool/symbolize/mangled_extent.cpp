#include "tool/symbolize/mangled_extent.hpp"

#include <algorithm>
#include <array>

#include "tool/symbolize/mangled_letters.hpp"

namespace heapledger::symbols {
namespace {

constexpr int part_depth_limit = 256;

char at(std::string_view name, std::size_t position) {
  return position < name.size() ? name[position] : '\0';
}

class extent {
 public:
  explicit extent(std::string_view name) : name_(name) {}

  std::size_t type(std::size_t from, int depth) const {
    if (depth > part_depth_limit) return no_end;
    const char c = at(name_, from);
    const char next = at(name_, from + 1);
    if (c == 'P' || c == 'R' || c == 'O' || c == 'K' || c == 'V') return type(from + 1, depth + 1);
    if (c == 'N' || c == 'F') return bracket(from + 1, false, depth + 1);
    if (c == 'S' && next == 't') return with_arguments(identifier_end(name_, from + 2), depth);
    if (c == 'S' && is_lower(next)) return with_arguments(from + 2, depth);
    if (c == 'S' || c == 'T') return with_arguments(reference_end(name_, from), depth);
    if (c == 'D' && (next == 'T' || next == 't')) return bracket(from + 2, true, depth + 1);
    if (c == 'D' && next == 'p') return type(from + 2, depth + 1);
    if (c == 'D' && is_lower(next)) return from + 2;
    if (c == 'u') return with_arguments(identifier_end(name_, from + 1), depth);
    if (is_digit(c)) return with_arguments(identifier_end(name_, from), depth);
    return is_lower(c) ? from + 1 : no_end;
  }

  std::size_t literal(std::size_t from, int depth) const {
    if (name_.substr(from).starts_with("L_Z")) return bracket(from + 3, false, depth + 1);
    const auto value = type(from + 1, depth + 1);
    if (value == no_end) return no_end;
    const auto end = name_.find('E', value);
    return end == no_end ? no_end : end + 1;
  }

 private:
  std::size_t with_arguments(std::size_t from, int depth) const {
    return from != no_end && at(name_, from) == 'I' ? bracket(from + 1, false, depth + 1) : from;
  }

  // From what follows an opening letter to behind its E.
  std::size_t bracket(std::size_t from, bool is_expression, int depth) const {
    while (from < name_.size() && depth <= part_depth_limit) {  // no_end is beyond, too
      if (name_[from] == 'E') return from + 1;
      from = part(from, is_expression, depth);
    }
    return no_end;
  }

  std::size_t part(std::size_t from, bool is_expression, int depth) const {
    const char c = name_[from];
    const char next = at(name_, from + 1);
    switch (c) {
      case 'N':
      case 'I':
      case 'J':
      case 'F':
      case 'Z':
        return bracket(from + 1, false, depth + 1);
      case 'X':
        return bracket(from + 1, true, depth + 1);
      case 'L':
        return literal(from, depth + 1);
      case 'S':
        return is_sequence(next) || next == '_' ? reference_end(name_, from) : from + 2;
      case 'T':
        return is_digit(next) || next == '_' ? reference_end(name_, from) : next == 'L' ? no_end : from + 2;
      case 'D':
        return next == 'T' || next == 't' ? bracket(from + 2, true, depth + 1) : from + 2;
      case 'U':
        return next == 'l' ? bracket(from + 2, false, depth + 1) : from + 1;
      case 'Q':
        return no_end;
      default:
        break;
    }
    if (is_digit(c)) return identifier_end(name_, from);
    return is_expression && is_lower(c) ? operation(from, depth) : from + 1;
  }

  std::size_t operation(std::size_t from, int depth) const {
    constexpr std::array<std::string_view, 5> with_type = {"cv", "st", "at", "sr", "dc"};
    constexpr std::array<std::string_view, 5> with_end = {"cl", "il", "tl", "cp", "sP"};
    const auto code = name_.substr(from, 2);
    if (code == "fp") {
      const auto end = name_.find('_', from);
      return end == no_end ? no_end : end + 1;
    }
    if (code[0] == 'u') return bracket(identifier_end(name_, from + 1), false, depth + 1);
    if (code == "sr" && is_digit(at(name_, from + 2))) return qualified(from + 2, depth);
    if (std::find(with_type.begin(), with_type.end(), code) != with_type.end()) return type(from + 2, depth + 1);
    if (std::find(with_end.begin(), with_end.end(), code) != with_end.end()) return bracket(from + 2, true, depth + 1);
    return from + 2;
  }

  // sr3std9is_signedIT_EE5value, where clang closes the scopes of a name, and GCC does not.
  std::size_t qualified(std::size_t from, int depth) const {
    while (from != no_end && is_digit(at(name_, from))) from = with_arguments(identifier_end(name_, from), depth);
    const bool is_closed = from != no_end && at(name_, from) == 'E' && is_digit(at(name_, from + 1));
    return is_closed ? with_arguments(identifier_end(name_, from + 1), depth) : from;
  }

  std::string_view name_;
};

}  // namespace

std::size_t identifier_end(std::string_view name, std::size_t from) {
  if (!is_digit(at(name, from))) return no_end;
  std::size_t length = 0;
  for (; is_digit(at(name, from)) && length <= name.size(); ++from)
    length = length * 10 + static_cast<std::size_t>(name[from] - '0');
  return length <= name.size() - from ? from + length : no_end;
}

std::size_t reference_end(std::string_view name, std::size_t from) {
  for (++from; is_sequence(at(name, from));) ++from;
  return at(name, from) == '_' ? from + 1 : no_end;
}

std::size_t literal_end(std::string_view name, std::size_t from) {
  return at(name, from) == 'L' ? extent(name).literal(from, 0) : no_end;
}

std::size_t type_end(std::string_view name, std::size_t from) {
  return extent(name).type(from, 0);
}

}  // namespace heapledger::symbols

#include "tool/symbolize/older_mangling.hpp"

#include <algorithm>

#include "tool/symbolize/mangled_extent.hpp"
#include "tool/symbolize/mangled_letters.hpp"

namespace heapledger::symbols {
namespace {

constexpr int declarations_limit = 64;  // each may be looked for in the whole rest of the name
constexpr int nesting_limit = 16;

struct declaration {
  std::size_t end = no_end;
  bool counts = false;  // it has parts that a later reference (S4_) may be to, or is numbered after
};

// St8integral and NS_3NumE: a name in std, or in what is a reference already, is no part that counts.
declaration concept_name(std::string_view name, std::size_t at) {
  const bool nested = name.substr(at).starts_with("NS") && !name.substr(at).starts_with("NSt");
  const auto end = type_end(name, at);
  const auto identifier = nested ? reference_end(name, at + 1) : name.substr(at).starts_with("St") ? at + 2 : at;
  const auto plain = identifier == no_end ? no_end : identifier_end(name, identifier);
  return {end, plain == no_end || plain + (nested ? 1 : 0) != end};
}

// A type, and what follows must be a value or a pack of them, unless it is in the head of a lambda.
declaration value(std::string_view name, std::size_t at) {
  const auto end = type_end(name, at);
  if (end == at + 1 || name.substr(at).starts_with("Da")) return {end, false};
  const bool has_value = end < name.size() && std::string_view("LXJ").find(name[end]) != std::string_view::npos;
  return {has_value ? end : no_end, true};
}

// Of a template's parameter.
declaration declaration_at(std::string_view name, std::size_t at, int nesting = 0) {
  const auto rest = name.substr(at);
  if (nesting > nesting_limit || rest.size() < 3 || rest[0] != 'T') return {};
  switch (rest[1]) {
    case 'y':
      return {at + 2, false};
    case 'n':
      return value(name, at + 2);
    case 'k':
      return concept_name(name, at + 2);
    case 'p':
      return declaration_at(name, at + 2, nesting + 1);
    case 't': {
      declaration all{at + 2, false};
      while (all.end < name.size() && name[all.end] != 'E') {
        const auto each = declaration_at(name, all.end, nesting + 1);
        all = {each.end, all.counts || each.counts};
      }
      return all.end < name.size() ? declaration{all.end + 1, all.counts} : declaration{};
    }
    default:
      return {};
  }
}

class rewriter {
 public:
  explicit rewriter(std::string_view name) : name_(name) {}

  older_name run() {
    while (position_ < name_.size()) step();
    return {text_, left_out_at_, right_until_ == no_end ? text_.size() : right_until_};
  }

 private:
  void step() {
    const auto rest = name_.substr(position_);
    const auto found = declarations_ < declarations_limit ? declaration_at(name_, position_) : declaration{};
    if (found.end != no_end) {
      ++declarations_;
      has_counted_ = has_counted_ || found.counts;
      left_out_at_ = std::min(left_out_at_, text_.size());
      position_ = found.end;
      if (found.counts) copy_value();
    } else if (rest.size() > 3 && (rest[0] == 'C' || rest[0] == 'D') && is_digit(rest[1]) && rest[2] == 'B') {
      copy(position_ + 2);
      skip_tags();
    } else {
      copy(part_end());
    }
  }

  void copy(std::size_t end) {
    text_ += name_.substr(position_, end - position_);
    position_ = end;
  }

  // Its type, where that is a class's or an enumeration, is mostly a reference to what was left out.
  void copy_value() {
    const auto end = literal_end(name_, position_);
    const auto type = end == no_end ? no_end : type_end(name_, position_ + 1);
    if (type == no_end || type > end) return;
    text_ += "Li";
    text_ += name_.substr(type, end - type);
    position_ = end;
  }

  void skip_tags() {
    while (position_ < name_.size() && name_[position_] == 'B') {
      const auto end = identifier_end(name_, position_ + 1);
      if (end == no_end) return;
      position_ = end;
    }
  }

  // What looks like a declaration in an identifier is none.
  std::size_t part_end() {
    auto end = no_end;
    const char c = name_[position_];
    if (is_digit(c)) end = identifier_end(name_, position_);
    if (c == 'L' && position_ + 1 < name_.size() && is_lower(name_[position_ + 1])) end = literal_end(name_, position_);
    if (c == 'S') end = reference_end(name_, position_);
    if (c == 'S' && end != no_end && has_counted_) right_until_ = std::min(right_until_, text_.size());
    return end == no_end ? position_ + 1 : end;
  }

  std::string_view name_;
  std::string text_;
  std::size_t position_ = 0;
  std::size_t left_out_at_ = no_end;
  std::size_t right_until_ = no_end;
  bool has_counted_ = false;
  int declarations_ = 0;
};

}  // namespace

older_name in_older_mangling(std::string_view mangled) {
  return rewriter(mangled).run();
}

}  // namespace heapledger::symbols

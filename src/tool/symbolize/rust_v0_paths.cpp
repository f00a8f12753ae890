#include "tool/symbolize/mangled_letters.hpp"
#include "tool/symbolize/rust_demangle.hpp"
#include "tool/symbolize/rust_v0_grammar.hpp"

namespace heapledger::symbols {
namespace {

constexpr int path_depth_limit = 200;
constexpr std::size_t step_limit = 100'000;  // back references repeat work without always writing

}  // namespace

rust_v0_grammar::nested::nested(rust_v0_grammar& owner) : owner_(owner) {
  if (++owner_.depth_ > path_depth_limit || ++owner_.steps_ > step_limit) owner_.text_.fail();
}

std::string rust_v0_grammar::symbol_name() {
  path(true);
  if (text_.ok() && is_upper(text_.peek())) {  // the crate that instantiated a generic
    text_.set_silent(true);
    path(false);
  }
  return text_.ok() && text_.at_end() ? text_.printed() : std::string();
}

void rust_v0_grammar::path(bool in_value) {
  const nested guard(*this);
  if (!text_.ok()) return;
  switch (text_.next()) {
    case 'C':
      return text_.print(text_.disambiguated_identifier());
    case 'N':
      return nested_path(in_value);
    case 'M':
      implementation_path();
      text_.print("<");
      type();
      return text_.print(">");
    case 'X':
      implementation_path();
      [[fallthrough]];
    case 'Y':
      text_.print("<");
      type();
      text_.print(" as ");
      path(false);
      return text_.print(">");
    case 'I':
      path(in_value);
      text_.print(in_value ? "::<" : "<");
      list([this] { generic_argument(); });
      return text_.print(">");
    case 'B':
      return back_reference([&] { path(in_value); });
    default:
      text_.fail();
  }
}

void rust_v0_grammar::nested_path(bool in_value) {
  const char name_space = text_.next();
  if (!is_lower(name_space) && !is_upper(name_space)) text_.fail();
  path(in_value);
  const auto name = text_.disambiguated_identifier();
  if (is_lower(name_space)) {
    if (name.text.empty()) return;
    text_.print("::");
    return text_.print(name);
  }
  text_.print("::{");
  if (name_space == 'C')
    text_.print("closure");
  else if (name_space == 'S')
    text_.print("shim");
  else
    text_.print(name_space);
  if (!name.text.empty()) {
    text_.print(":");
    text_.print(name);
  }
  text_.print("#");
  text_.print_number(name.disambiguator);
  text_.print("}");
}

// Where an implementation stands says nothing to a reader: the type does.
void rust_v0_grammar::implementation_path() {
  text_.optional_base62('s');
  const bool was_silent = text_.set_silent(true);
  path(false);
  text_.set_silent(was_silent);
}

void rust_v0_grammar::generic_argument() {
  if (text_.take('L')) return lifetime(text_.base62());
  if (text_.take('K')) return constant();
  type();
}

std::string demangle_rust_v0(std::string_view name) {
  if (!name.starts_with("_R")) return {};
  name.remove_prefix(2);
  name = name.substr(0, name.find_first_of(".$"));  // what follows was added by the code generator for a copy
  if (name.empty() || !is_upper(name[0])) return {};
  return rust_v0_grammar(name).symbol_name();
}

}  // namespace heapledger::symbols

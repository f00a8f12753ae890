// The parts of a demangled C++ or Rust function name, found by scanning brackets. A name that does not scan (it may be
// anything: names come from files) is returned whole rather than refused.
#pragma once

#include <string>
#include <string_view>

namespace heapledger::analyse {

// "void ns::f<int>(char const*) const" gives "ns::f<int>": no return type, no parameters.
std::string_view qualified_name(std::string_view function);

// What all spellings of it have in common, and its overloads: "ns::f". No template arguments either, nor those of
// functions and lambdas that enclose it: "main::{lambda(int)#1}::operator()(int) const" gives
// "main::{lambda}::operator()".
std::string plain_name(std::string_view function);

// Whether parameters are part of it, if only "()".
bool has_parameters(std::string_view function);

// The qualified name without enclosing scopes and template arguments: "f". Operators and destructors keep their
// spelling.
std::string_view base_name(std::string_view function);

// Length of the operator's symbol if `name` has an operator function's name at `position` ("operator<<": 10), else 0.
std::size_t operator_length(std::string_view name, std::size_t position);

}  // namespace heapledger::analyse

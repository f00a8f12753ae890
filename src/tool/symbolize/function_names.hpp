// What functions are called, demangled and with the scopes that enclose them. Each name is made once.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string>
#include <unordered_map>

#include "tool/symbolize/symbol_table.hpp"

namespace heapledger::symbols {

class function_names {
 public:
  explicit function_names(const symbol_table& symbols) : symbols_(symbols) {}

  // An inlined function. Empty: the debug information has no name.
  const std::string& inlined(Dwarf_Die function);
  // A real function, at one of its addresses: compilers leave out the linkage name of what is local to a file, and the
  // symbol table has it.
  const std::string& real(Dwarf_Die function, std::uint64_t address);
  // What the symbol table alone says. Empty: nothing.
  const std::string& symbol(std::uint64_t address);

 private:
  const symbol_table& symbols_;
  std::unordered_map<const void*, std::string> inlined_;  // by entry
  std::unordered_map<const void*, std::string> real_;
  std::unordered_map<const char*, std::string> symbol_;  // by the symbol's place in its file
};

}  // namespace heapledger::symbols

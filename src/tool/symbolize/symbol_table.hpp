// The function symbols of one module, from the symbol tables of its files, sorted once and then searched.
#pragma once

#include <gelf.h>

#include <cstdint>
#include <vector>

#include "tool/symbolize/reach_index.hpp"

namespace heapledger::symbols {

class symbol_table {
 public:
  // Names stay in the file, which must outlive the table.
  void add(Elf* file);
  void finish();

  bool empty() const { return symbols_.empty(); }
  // The innermost symbol that covers the address; among aliases the one that the program would call. Null: none.
  // A symbol without a size reaches to the next, and gives way to one with a size.
  const char* find(std::uint64_t address) const;

 private:
  struct symbol {
    std::uint64_t begin;
    std::uint64_t end;
    const char* name;
    std::uint8_t rank;  // lower is better
    bool sized;
  };
  void add_section(Elf* file, Elf_Scn* section, const GElf_Shdr& header);
  static bool better(const symbol& a, const symbol& b);

  std::vector<symbol> symbols_;
  reach_index reach_;
};

}  // namespace heapledger::symbols

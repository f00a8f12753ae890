// Source lines of one compilation unit. Strings live as long as the debug information.
#pragma once

#include <elfutils/libdw.h>

#include <cstdint>
#include <string_view>

namespace heapledger::symbols {

struct source_line {
  std::string_view file;  // empty: unknown
  std::uint32_t line = 0;
};

class line_table {
 public:
  explicit line_table(Dwarf_Die unit);

  source_line find(std::uint64_t address) const;
  // By the number that DW_AT_call_file gives.
  std::string_view file(std::uint64_t number) const;

 private:
  Dwarf_Lines* lines_ = nullptr;
  std::size_t line_count_ = 0;
  Dwarf_Files* files_ = nullptr;
  std::size_t file_count_ = 0;
};

}  // namespace heapledger::symbols

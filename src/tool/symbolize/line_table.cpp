#include "tool/symbolize/line_table.hpp"

namespace heapledger::symbols {
namespace {

// What libdw calls the file that the debug information does not name: number 0, before DWARF 5.
std::string_view known(const char* file) {
  return file == nullptr || std::string_view(file) == "???" ? std::string_view() : file;
}

}  // namespace

line_table::line_table(Dwarf_Die unit) {
  if (dwarf_getsrclines(&unit, &lines_, &line_count_) != 0) line_count_ = 0;
  if (dwarf_getsrcfiles(&unit, &files_, &file_count_) != 0) file_count_ = 0;
}

source_line line_table::find(std::uint64_t address) const {
  // The last row at or before the address: first + 1 .. last are beyond it.
  std::size_t first = 0;
  std::size_t last = line_count_;
  while (first < last) {
    const auto middle = first + (last - first) / 2;
    Dwarf_Addr row = 0;
    if (dwarf_lineaddr(dwarf_onesrcline(lines_, middle), &row) != 0) return {};
    if (row <= address)
      first = middle + 1;
    else
      last = middle;
  }
  if (first == 0) return {};
  Dwarf_Line* row = dwarf_onesrcline(lines_, first - 1);
  bool past_the_end = true;
  if (row == nullptr || dwarf_lineendsequence(row, &past_the_end) != 0 || past_the_end) return {};
  source_line result;
  int line = 0;
  if (dwarf_lineno(row, &line) == 0 && line > 0) result.line = static_cast<std::uint32_t>(line);
  result.file = known(dwarf_linesrc(row, nullptr, nullptr));
  return result;
}

std::string_view line_table::file(std::uint64_t number) const {
  return known(number < file_count_ ? dwarf_filesrc(files_, number, nullptr, nullptr) : nullptr);
}

}  // namespace heapledger::symbols

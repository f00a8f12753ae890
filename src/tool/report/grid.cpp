#include "tool/report/grid.hpp"

#include <algorithm>

#include "tool/report/printable.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t indent = 2;
constexpr std::size_t gap = 2;
constexpr std::size_t narrowest_name = 10;

}  // namespace

std::size_t grid::widest(std::size_t column) const {
  std::size_t result = columns(columns_[column].head);
  for (const auto& row : rows_) result = std::max(result, columns(row[column]));
  return result;
}

void grid::fit(std::size_t page_width) {
  const auto sum = [this] {
    std::size_t result = indent;
    for (const auto& column : columns_) result += column.width;
    return result;
  };
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto& column = columns_[i];
    if (column.kind == cell::number) column.width = std::max(column.width, widest(i) + 1);
    if (column.kind == cell::words) column.width = gap + widest(i);
  }
  if (sum() <= page_width) return;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    auto& column = columns_[i];
    const std::size_t needed = widest(i) + (i == 0 ? 0 : gap);
    column.width = column.kind == cell::name ? std::min(column.width, needed) : needed;
  }
  while (sum() > page_width) {
    grid_column* longest = nullptr;
    for (auto& column : columns_) {
      if (column.kind == cell::name && (longest == nullptr || column.width > longest->width)) longest = &column;
    }
    if (longest == nullptr || longest->width <= narrowest_name) return;
    --longest->width;
  }
}

std::string grid::head() const {
  std::vector<std::string> cells;
  for (const auto& column : columns_) cells.push_back(column.head);
  return text(cells);
}

std::string grid::text(const std::vector<std::string>& cells) const {
  std::string line(indent, ' ');
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const auto& column = columns_[i];
    const std::string& shown = cells[i];
    if (column.kind == cell::number) {
      line += std::string(column.width - std::min(column.width, columns(shown)), ' ') + shown;
    } else {
      const std::size_t before = i == 0 ? 0 : std::min(gap, column.width);
      const std::size_t room = column.width - before;
      line += std::string(before, ' ') + padded(column.kind == cell::name ? cut_right(shown, room) : shown, room);
    }
  }
  return line;
}

}  // namespace heapledger::report

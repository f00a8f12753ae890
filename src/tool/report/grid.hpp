// The columns of a table. Each is as wide as asked for while the page has room; on a narrower one each is as wide as
// what is in it, and then names are cut. Numbers never are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace heapledger::report {

enum class cell { name, number, words };  // left and may be cut; right; left and whole, for the last one

struct grid_column {
  std::string head;
  std::size_t width;  // usually, with the blanks before it
  cell kind = cell::number;
};

class grid {
 public:
  explicit grid(std::vector<grid_column> columns) : columns_(std::move(columns)) {}

  // As many cells as there are columns.
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // After the last add(), before the first line.
  void fit(std::size_t page_width);

  std::string head() const;
  std::string line(std::size_t row) const { return text(rows_[row]); }
  std::size_t size() const { return rows_.size(); }

 private:
  std::size_t widest(std::size_t column) const;
  std::string text(const std::vector<std::string>& cells) const;

  std::vector<grid_column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace heapledger::report

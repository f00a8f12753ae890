// The live view on a screen: what is drawn, and what keys do. Knows nothing of terminals: it makes lines of text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tool/live/sample.hpp"
#include "tool/live/source.hpp"
#include "tool/live/view.hpp"

namespace heapledger::live {

enum class look { plain, bold, faint, heading, selected, growing };

struct screen_line {
  std::string text;  // at most as wide as the screen
  look how = look::plain;
};

// Keys as the terminal's library names them, or characters.
enum class key { up, down, page_up, page_down, home, end, left, right, enter, tab, escape, erase };

class screen {
 public:
  screen(source& from, order by, subject what, bool unicode);

  void limit_rows(std::size_t most) { rows_limit_ = most; }
  void take();  // a new sample, unless paused
  std::vector<screen_line> draw(std::size_t lines, std::size_t columns);

  // False: the user wants to leave.
  bool press(key which);
  bool type(char letter);

  bool has_ended() const { return last_->state != watched::running; }

 private:
  struct shown_row {
    std::uint32_t index;  // into the sample's rows
    std::size_t stack;    // into the described profile
  };

  void choose_rows();
  void move(std::ptrdiff_t by);
  void sort_by(order by);
  void show(subject what);
  std::vector<screen_line> head(std::size_t columns) const;
  std::vector<screen_line> body(std::size_t lines, std::size_t columns);
  std::string tabs() const;
  std::string bottom() const;
  std::uint32_t id_of(std::size_t at) const;

  source& source_;
  const sample* last_ = nullptr;
  order by_;
  subject what_;
  bool unicode_;
  bool paused_ = false;
  std::size_t rows_limit_ = 1000;  // that one can scroll through
  bool helps_ = false;
  bool types_search_ = false;
  std::string search_;
  std::vector<std::int64_t> history_;  // live bytes

  std::vector<std::uint32_t> ranked_;      // those that the search lets through
  std::optional<std::uint32_t> selected_;  // a row's id: the bar stays on it when the order changes
  std::size_t selected_at_ = 0;
  std::size_t first_ = 0;  // row at the top of the table
  std::size_t page_ = 1;
  std::set<std::pair<subject, std::uint32_t>> unfolded_;  // rows that are stacks, by their ids
};

}  // namespace heapledger::live

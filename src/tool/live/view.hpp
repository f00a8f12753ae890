// What the live view can list, as a table: a line here is a tab, a key, a word of --per, and columns. Whoever adds one
// adds its rows to `sample`, fills them in the sources, and writes no code in the screen.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tool/live/sample.hpp"

namespace heapledger::live {

struct column {
  const char* title;
  std::optional<order> sorts;  // the star stands at the column that the order goes by
  bool is_rate;                // unknown in the first sample
  int keep;                    // where the terminal is narrow, columns with the least go first
  std::string (*text)(const row&);
};

struct view {
  const char* name;   // --per
  const char* tab;    // on the screen, and the key of the rows in JSON
  const char* title;  // above the names
  const char* empty;  // instead of rows
  char key;           // that shows it
  bool are_stacks;    // rows are described by the source, and unfold
  std::vector<row> sample::*rows;
  std::span<const column> columns;

  bool sorts_by(order by) const;
};

inline constexpr const char* none_lives = "nothing lives here";

// In the order of `subject`, which is that of the tabs.
std::span<const view> views();
const view& view_of(subject what);

inline const std::vector<row>& rows_of(const sample& from, subject what) {
  return from.*view_of(what).rows;
}

}  // namespace heapledger::live

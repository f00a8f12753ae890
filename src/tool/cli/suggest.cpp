#include "tool/cli/suggest.hpp"

#include <algorithm>
#include <vector>

namespace heapledger::cli {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::size_t row = b.size() + 1;
  std::vector<std::size_t> table((a.size() + 1) * row);
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      std::size_t& cell = table[i * row + j];
      if (i == 0 || j == 0) {
        cell = i + j;
        continue;
      }
      const std::size_t replaced = table[(i - 1) * row + j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      cell = std::min({table[(i - 1) * row + j] + 1, table[i * row + j - 1] + 1, replaced});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cell = std::min(cell, table[(i - 2) * row + j - 2] + 1);
      }
    }
  }
  return table.back();
}

std::string nearest(std::string_view word, std::span<const std::string> known) {
  constexpr std::size_t longest_word = 64;  // nobody mistypes more; keeps the table small
  if (word.size() > longest_word) return {};
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const bool begins = word.size() >= 3 && candidate.starts_with(word);
    const bool ends = word.starts_with("--") && word.size() > 4 && candidate.ends_with(word.substr(1));  // --leaks-rest
    const std::size_t distance = begins || ends ? 1 : edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace heapledger::cli

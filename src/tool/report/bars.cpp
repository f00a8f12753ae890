#include "tool/report/bars.hpp"

#include <algorithm>
#include <array>

namespace heapledger::report {

std::string bars(std::span<const std::int64_t> heights, std::int64_t highest, bool unicode) {
  constexpr std::array blocks = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array letters = {" ", "_", ".", ",", "-", "=", "+", "*", "#"};
  std::string picture;
  for (const std::int64_t height : heights) {
    const double share = static_cast<double>(std::max<std::int64_t>(height, 0)) / static_cast<double>(highest);
    const auto level = static_cast<std::size_t>(share * 8 + (height > 0 ? 0.999 : 0));
    picture += (unicode ? blocks : letters)[std::min<std::size_t>(level, 8)];
  }
  return picture;
}

}  // namespace heapledger::report

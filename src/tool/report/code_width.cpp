#include "tool/report/code_width.hpp"

#include <algorithm>
#include <iterator>

namespace heapledger::report {
namespace {

struct range {
  std::uint32_t first;
  std::uint32_t last;
};

// Blocks of Unicode, not single characters: names in programs need no more, and what is off by one is only out of line.
constexpr range joined[] = {{0x300, 0x36f},   {0x483, 0x489},   {0x591, 0x5bd},    {0x610, 0x61a},   {0x64b, 0x65f},
                            {0x1ab0, 0x1ace}, {0x1dc0, 0x1dff}, {0x20d0, 0x20f0},  {0x302a, 0x302d}, {0x3099, 0x309a},
                            {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};
constexpr range wide[] = {{0x1100, 0x115f},   {0x231a, 0x231b},   {0x2329, 0x232a},   {0x23e9, 0x23ec},
                          {0x2e80, 0x303e},   {0x3041, 0x3247},   {0x3250, 0x4dbf},   {0x4e00, 0xa4c6},
                          {0xa960, 0xa97c},   {0xac00, 0xd7a3},   {0xf900, 0xfaff},   {0xfe30, 0xfe6b},
                          {0xff01, 0xff60},   {0xffe0, 0xffe6},   {0x16fe0, 0x18dff}, {0x1aff0, 0x1b2fb},
                          {0x1f300, 0x1f320}, {0x1f32d, 0x1f335}, {0x1f400, 0x1f43e}, {0x1f442, 0x1f4fc},
                          {0x1f5fb, 0x1f64f}, {0x1f680, 0x1f6c5}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

template <std::size_t Count>
bool is_in(const range (&ranges)[Count], std::uint32_t code_point) {
  const auto* after = std::upper_bound(std::begin(ranges), std::end(ranges), code_point,
                                       [](std::uint32_t value, const range& each) { return value < each.first; });
  return after != std::begin(ranges) && code_point <= std::prev(after)->last;
}

}  // namespace

std::size_t code_width(std::uint32_t code_point) {
  if (code_point < joined[0].first) return 1;
  if (is_in(joined, code_point)) return 0;
  return is_in(wide, code_point) ? 2 : 1;
}

}  // namespace heapledger::report

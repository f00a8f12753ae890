// Stacks as people think of them: a walk over the frames of a stack, inlined ones too, from the allocation outward.
// Works on any profile that the reader or the collector has checked (indices in range, parents before children).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::analyse {

struct frame_ref {
  std::uint32_t location = none;  // index into profile::locations
  std::uint32_t symbol = none;    // index into profile::frames; none: nothing is known but the address
  bool inlined = false;           // into the frame that follows
};

inline std::string_view text(const profile& p, std::uint32_t string) {
  return string < p.strings.size() ? std::string_view(p.strings[string]) : std::string_view();
}
inline std::string_view function_name(const profile& p, const frame_ref& frame) {
  return frame.symbol == none ? std::string_view() : text(p, p.frames[frame.symbol].function);
}
inline std::string_view file_name(const profile& p, const frame_ref& frame) {
  return frame.symbol == none ? std::string_view() : text(p, p.frames[frame.symbol].file);
}
inline std::uint32_t line_number(const profile& p, const frame_ref& frame) {
  return frame.symbol == none ? 0 : p.frames[frame.symbol].line;
}
inline std::uint32_t module_index(const profile& p, const frame_ref& frame) {
  return p.locations[frame.location].module;
}

// What a frame without a function is called: MODULE+0x12.
std::string address_name(const profile& p, const location& place);

// Calls visit(frame) for every frame until it returns false.
template <class Visit>
void walk_stack(const profile& p, std::uint32_t node, Visit&& visit) {
  while (node != 0) {
    const stack_node& here = p.nodes[node];
    if (here.location != none) {
      const auto& symbols = p.locations[here.location].symbols;
      if (symbols.empty() && !visit(frame_ref{here.location, none, false})) return;
      for (std::size_t i = 0; i < symbols.size(); ++i) {
        if (!visit(frame_ref{here.location, symbols[i], i + 1 < symbols.size()})) return;
      }
    }
    node = here.parent;
  }
}

std::vector<frame_ref> expand_stack(const profile& p, std::uint32_t node, std::size_t limit = SIZE_MAX);

}  // namespace heapledger::analyse

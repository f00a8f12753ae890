#include "tool/export/place_text.hpp"

#include <fmt/format.h>

#include "tool/report/names.hpp"

namespace heapledger::exports {

std::string place_text(const profile& p, safe_names& names, const analyse::frame_ref& frame) {
  const location& place = p.locations[frame.location];
  const std::uint64_t address = place.address + (place.module == none ? 0 : p.modules[place.module].bias);
  const bool named = frame.symbol != none && p.frames[frame.symbol].function != none;
  std::string text = fmt::format("0x{:X}: {}", address, named ? names.function(frame) : "???");
  const std::string& file = names.file(frame);
  if (!file.empty()) {
    const std::uint32_t line = analyse::line_number(p, frame);
    text += line == 0 ? fmt::format(" ({})", report::file_part(file))
                      : fmt::format(" ({}:{})", report::file_part(file), line);
  } else if (place.module != none) {
    text += fmt::format(" (in {})", names.module(place.module));
  }
  return text;
}

}  // namespace heapledger::exports

#include "tool/export/format.hpp"

#include <algorithm>
#include <array>

namespace heapledger::exports {

std::span<const format> formats() {
  static constexpr std::array<format, 8> all = {{
      {"pprof", ".pb.gz", true, true, write_pprof},
      {"heaptrack", ".heaptrack", false, false, write_heaptrack},
      {"speedscope", ".speedscope.json", false, true, write_speedscope},
      {"folded", ".folded", false, true, write_folded},
      {"massif", ".massif", false, false, write_massif},
      {"dhat", ".dhat.json", false, false, write_dhat},
      {"csv", ".csv", false, true, write_csv},
      {"hlp", ".hlp", true, false, write_hlp},
  }};
  return all;
}

const format* find_format(std::string_view name) {
  const auto all = formats();
  const auto found = std::find_if(all.begin(), all.end(), [&](const format& entry) { return entry.name == name; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace heapledger::exports

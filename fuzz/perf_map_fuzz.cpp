// Any bytes as a map for perf: names come from its lines and nowhere else.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tool/symbolize/perf_map.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::istringstream map(text);
  const std::vector<std::uint64_t> addresses{0, 1, 0x1000, 0x1008, 0x7fff'ffff'f000, ~std::uint64_t{0}};
  for (const auto& name : heapledger::symbols::names_in_perf_map(map, addresses))
    if (!name.empty() && text.find(name) == std::string::npos) std::abort();
  return 0;
}

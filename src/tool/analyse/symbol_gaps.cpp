#include "tool/analyse/symbol_gaps.hpp"

#include <algorithm>

#include "tool/analyse/machinery.hpp"

namespace heapledger::analyse {

std::vector<symbol_gap> symbol_gaps(const profile& p) {
  std::vector<symbol_gap> gaps(p.modules.size());
  for (std::uint32_t i = 0; i < gaps.size(); ++i) gaps[i].module = i;
  for (const location& place : p.locations) {
    if (place.module == none) continue;
    symbol_gap& gap = gaps[place.module];
    ++gap.places;
    const bool has_name = !place.symbols.empty() && p.frames[place.symbols.back()].function != none;
    const bool has_line = !place.symbols.empty() && p.frames[place.symbols.back()].line != 0;
    if (!has_name) ++gap.without_name;
    if (!has_line) ++gap.without_line;
  }
  std::erase_if(gaps, [&](const symbol_gap& gap) {
    if (gap.without_name != 0) return false;
    if (gap.without_line < 2) return true;  // _start has none anywhere
    return 2 * gap.without_line < gap.places || is_system_runtime(p.modules[gap.module].path);
  });
  std::stable_sort(gaps.begin(), gaps.end(), [](const symbol_gap& a, const symbol_gap& b) {
    return a.without_name + a.without_line > b.without_name + b.without_line;
  });
  return gaps;
}

nameless_bytes nameless_at_peak(const profile& p, const std::vector<site>& sites) {
  nameless_bytes result;
  std::vector<std::int64_t> bytes(p.modules.size());
  for (const site& site : sites) {
    if (site.frame.location == none || !function_name(p, site.frame).empty()) continue;
    const std::uint32_t module = module_index(p, site.frame);
    if (module == none) continue;  // generated code never has one
    // What a place within the runtime is, as the pool for exceptions that libstdc++ begins with, is nobody's question.
    if (is_system_runtime(p.modules[module].path)) continue;
    bytes[module] += site.count.peak_bytes;
    result.bytes += site.count.peak_bytes;
    if (result.module == none || bytes[module] > bytes[result.module]) result.module = module;
  }
  return result;
}

}  // namespace heapledger::analyse

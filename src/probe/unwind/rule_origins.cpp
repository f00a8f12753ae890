#include "probe/unwind/rule_origins.hpp"

#include <dlfcn.h>

namespace heapledger::probe {

std::uint64_t rule_origins::word_at(std::uint64_t address) {
  dl_find_object object;
  if (_dl_find_object(reinterpret_cast<void*>(address), &object) != 0) return 0;
  constexpr std::uint64_t page_bytes = 1u << page_bits;
  const std::uint64_t start = reinterpret_cast<std::uint64_t>(object.dlfo_map_start) >> page_bits;
  const std::uint64_t end = (reinterpret_cast<std::uint64_t>(object.dlfo_map_end) + page_bytes - 1) >> page_bits;
  return start << count_bits | (end - start);
}

rule_origins::origin rule_origins::add(std::uint64_t address) {
  const std::uint64_t module = word_at(address);
  if (module == 0) return origin::none;
  for (std::uint64_t& place : modules_) {
    std::uint64_t there = __atomic_load_n(&place, __ATOMIC_ACQUIRE);
    if (there == 0 && __atomic_compare_exchange_n(&place, &there, module, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
      return origin::fresh;
    if (there == module) return origin::known;
  }
  __atomic_store_n(&overflowed_, true, __ATOMIC_RELAXED);
  return origin::fresh;
}

}  // namespace heapledger::probe

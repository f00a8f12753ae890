#include "probe/unwind/rule_cache.hpp"

#include "probe/base/own_memory.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

constinit rule_cache rules;

bool rule_cache::create() {
  if (entries_ == nullptr) entries_ = static_cast<std::uint64_t*>(own_map(sizeof(std::uint64_t) << size_bits));
  return entries_ != nullptr;
}

rule rule_cache::miss(std::uint64_t pc) {
  const rule compiled = compile_rule(pc & ~wire::place_exact_address, (pc & wire::place_exact_address) == 0);
  const auto word = std::uint64_t{rest(pc)} << 32 | compiled.bits();
  __atomic_store_n(&entries_[place(pc)], word, __ATOMIC_RELAXED);
  return compiled;
}

void rule_cache::forget(std::uint64_t start, std::uint64_t end) {
  for (std::size_t i = 0; entries_ != nullptr && i < std::size_t{1} << size_bits; ++i) {
    const std::uint64_t pc = (entries_[i] >> 32 << size_bits | i) & ~wire::place_exact_address;
    if (pc >= start && pc <= end) __atomic_store_n(&entries_[i], 0, __ATOMIC_RELAXED);
  }
}

}  // namespace heapledger::probe

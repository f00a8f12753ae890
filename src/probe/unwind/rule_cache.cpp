#include "probe/unwind/rule_cache.hpp"

#include "probe/base/own_memory.hpp"

namespace heapledger::probe {

constinit rule_cache rules;

bool rule_cache::create() {
  if (entries_ == nullptr) entries_ = static_cast<entry*>(own_map(sizeof(entry) << size_bits));
  return entries_ != nullptr;
}

rule rule_cache::miss(std::uint64_t pc, bool return_site) {
  const std::uint64_t key = pc << 1 | (return_site ? 0 : 1);
  const rule compiled = compile_rule(pc, return_site);
  const auto word = __builtin_bit_cast(std::uint64_t, compiled);
  entry& slot = entries_[index(key)];
  __atomic_store_n(&slot.word, word, __ATOMIC_RELAXED);
  __atomic_store_n(&slot.key, key ^ word, __ATOMIC_RELAXED);
  return compiled;
}

void rule_cache::forget(std::uint64_t start, std::uint64_t end) {
  for (std::size_t i = 0; entries_ != nullptr && i < std::size_t{1} << size_bits; ++i) {
    const std::uint64_t pc = (entries_[i].key ^ entries_[i].word) >> 1;
    if (pc >= start && pc <= end) __atomic_store_n(&entries_[i].key, 0, __ATOMIC_RELAXED);
  }
}

}  // namespace heapledger::probe

// Compiled rules by address, shared by all threads, direct mapped. An entry is two words stored without a lock: the
// key is the address xor the rule, so that a torn pair matches nothing.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/unwind/rule.hpp"

namespace heapledger::probe {

class rule_cache {
 public:
  // False when there is no memory for it: walks still work, each step compiling its rule.
  bool create();

  // The rule at a return address, or at an exact one (of a frame that a signal interrupted): the key tells them apart.
  HL_HOT rule find(std::uint64_t pc, bool return_site) {
    const std::uint64_t key = pc << 1 | (return_site ? 0 : 1);
    entry& slot = entries_[index(key)];
    const std::uint64_t word = __atomic_load_n(&slot.word, __ATOMIC_RELAXED);
    if (HL_LIKELY((__atomic_load_n(&slot.key, __ATOMIC_RELAXED) ^ word) == key)) return __builtin_bit_cast(rule, word);
    return miss(pc, return_site);
  }

  // Forgets every rule of addresses in [start, end): the code there is gone.
  void forget(std::uint64_t start, std::uint64_t end);

 private:
  struct entry {
    std::uint64_t key, word;
  };
  static constexpr unsigned size_bits = 16;
  // Neighbours in code stay neighbours here, so that a small program touches few pages.
  static std::uint64_t index(std::uint64_t key) {
    return ((key >> 2) ^ (key >> 19) ^ (key >> 35)) & ((1u << size_bits) - 1);
  }
  HL_COLD rule miss(std::uint64_t pc, bool return_site);

  entry* entries_ = nullptr;
};

extern rule_cache rules;

}  // namespace heapledger::probe

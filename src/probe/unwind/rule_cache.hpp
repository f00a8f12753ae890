// Compiled rules by address, shared by all threads, direct mapped. An entry is one word, stored without a lock: the
// rule in its low half, and above it the bits of the address that its place does not tell (bit 47 is the highest).
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/unwind/rule.hpp"

namespace heapledger::probe {

class rule_cache {
 public:
  // False when there is no memory for it.
  bool create();

  // The rule at a return address, or with wire::place_exact_address set, at an address that a signal interrupted.
  HL_HOT rule find(std::uint64_t pc) {
    const std::uint64_t entry = __atomic_load_n(&entries_[place(pc)], __ATOMIC_RELAXED);
    if (HL_UNLIKELY(static_cast<std::uint32_t>(entry >> 32) != rest(pc))) return miss(pc);
    return rule(static_cast<std::uint32_t>(entry));
  }

  // Forgets every rule of addresses in [start, end): the code there is gone.
  void forget(std::uint64_t start, std::uint64_t end);

 private:
  static constexpr unsigned size_bits = 16;
  static std::uint64_t place(std::uint64_t pc) { return pc & ((1u << size_bits) - 1); }
  static std::uint32_t rest(std::uint64_t pc) { return static_cast<std::uint32_t>(pc >> size_bits); }
  HL_COLD rule miss(std::uint64_t pc);

  std::uint64_t* entries_ = nullptr;
};

HL_INTERNAL extern rule_cache rules;

}  // namespace heapledger::probe

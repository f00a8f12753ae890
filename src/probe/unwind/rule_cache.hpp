// Compiled rules by address, shared by all threads, in tables whose entries are single words, stored without a lock.
//
// The near one is small and dense, so that it stays in the caches that the program leaves us: of 12 million lookups of
// cc1plus 98.9 % end there, with 1,024 entries 92 %. An entry is 35 bits of the address, what its place does not tell,
// and the rule, if that has no more than 29 bits.
//
// The far ones hold all that was ever compiled, the rule in the low half of an entry and the rest of the address above.
// Who finds its place in the first taken goes to the second, where the same low bits have other places: of 12,000
// return addresses one in six finds it so, and to compile a rule takes a microsecond. Nothing is moved from one to the
// other: forget() would miss it on its way.
#pragma once

#include "probe/base/attributes.hpp"
#include "probe/unwind/rule.hpp"
#include "probe/unwind/rule_origins.hpp"

namespace heapledger::probe {

class rule_cache {
 public:
  // False when there is no memory for it.
  bool create();

  // The rule at a return address, or with wire::place_exact_address set, at an address that a signal interrupted (bit
  // 47 is the highest of either).
  HL_HOT rule find(std::uint64_t pc) {
    const std::uint64_t entry = __atomic_load_n(&near_[pc & (near_count - 1)], __ATOMIC_RELAXED);
    if (HL_UNLIKELY(entry >> near_rule_bits != pc >> near_bits)) return find_far(pc);
    return rule(static_cast<std::uint32_t>(entry & ((1u << near_rule_bits) - 1)));
  }

  // Forgets every rule of addresses in [start, end): the code there is gone.
  void forget(std::uint64_t start, std::uint64_t end);
  // The same for every module that is not loaded any more; true if there was any.
  bool forget_unloaded();

 private:
  static constexpr unsigned near_bits = 13, near_rule_bits = 64 - (48 - near_bits), far_bits = 16;
  static constexpr std::uint64_t near_count = 1u << near_bits, far_count = 1u << far_bits;

  static std::uint64_t place(std::uint64_t pc) { return pc & (far_count - 1); }
  static std::uint32_t rest(std::uint64_t pc) { return static_cast<std::uint32_t>(pc >> far_bits); }
  // Its own inverse, so that the second place and the rest tell the address as well.
  static std::uint64_t second_place(std::uint64_t place, std::uint32_t rest) {
    return place ^ (rest * 0x9e3779b1u) >> (32 - far_bits);
  }
  HL_COLD rule find_far(std::uint64_t pc);
  bool compile(std::uint64_t pc, std::uint64_t& second, rule& compiled);

  alignas(64) std::uint64_t near_[near_count] = {};
  std::uint64_t* first_ = nullptr;
  std::uint64_t* second_ = nullptr;
  bool second_used_ = false;
  rule_origins origins_;
};

HL_INTERNAL extern rule_cache rules;

// The first rule of a module since it was loaded: by hook/, which knows whether it was there before.
HL_COLD void code_came(std::uint64_t address);

}  // namespace heapledger::probe

#include "probe/unwind/rule_cache.hpp"

#include "probe/base/own_memory.hpp"
#include "wire/segment.hpp"

namespace heapledger::probe {

constinit rule_cache rules;

bool rule_cache::create() {
  if (first_ != nullptr) return true;
  auto* const both = static_cast<std::uint64_t*>(own_map(2 * far_count * sizeof(std::uint64_t)));
  if (both == nullptr) return false;
  second_ = both + far_count;
  first_ = both;
  return true;
}

HL_COLD rule rule_cache::find_far(std::uint64_t pc) {
  const auto is = [pc](std::uint64_t entry) { return static_cast<std::uint32_t>(entry >> 32) == rest(pc); };
  std::uint64_t& second = second_[second_place(place(pc), rest(pc))];
  std::uint64_t known = __atomic_load_n(&first_[place(pc)], __ATOMIC_RELAXED);
  if (!is(known)) known = __atomic_load_n(&second, __ATOMIC_RELAXED);
  rule found(static_cast<std::uint32_t>(known));
  if (HL_UNLIKELY(!is(known)) && !compile(pc, second, found)) return found;
  if (HL_LIKELY(found.bits() >> near_rule_bits == 0))
    __atomic_store_n(&near_[pc & (near_count - 1)], pc >> near_bits << near_rule_bits | found.bits(), __ATOMIC_RELAXED);
  return found;
}

// False: not to be kept. Nobody says when the address, which no module holds and of which nothing is known, comes to
// mean other code.
bool rule_cache::compile(std::uint64_t pc, std::uint64_t& second, rule& compiled) {
  const std::uint64_t address = pc & ~wire::place_exact_address;
  const bool return_site = address == pc;
  compiled = compile_rule(address, return_site);
  const rule_origins::origin of = origins_.add(return_site ? address - 1 : address);
  if (of == rule_origins::origin::none && compiled.kind() == rule_kind::unknown) return false;
  if (of == rule_origins::origin::fresh) code_came(return_site ? address - 1 : address);
  std::uint64_t& first = first_[place(pc)];
  const bool taken = __atomic_load_n(&first, __ATOMIC_RELAXED) != 0;
  if (taken) __atomic_store_n(&second_used_, true, __ATOMIC_RELAXED);
  __atomic_store_n(taken ? &second : &first, std::uint64_t{rest(pc)} << 32 | compiled.bits(), __ATOMIC_RELAXED);
  return true;
}

bool rule_cache::forget_unloaded() {
  bool any = false;
  origins_.sweep([&](std::uint64_t start, std::uint64_t end) {
    forget(start, end);
    any = true;
  });
  return any;
}

void rule_cache::forget(std::uint64_t start, std::uint64_t end) {
  const auto forget_if_there = [=](std::uint64_t& entry, std::uint64_t pc) {
    pc &= ~wire::place_exact_address;
    if (pc >= start && pc <= end) __atomic_store_n(&entry, 0, __ATOMIC_RELAXED);
  };
  // Of a small library's addresses only so many places.
  const std::uint64_t last = first_ == nullptr ? start : end + 1;
  for (std::uint64_t pc = start; pc < last && pc < start + near_count; ++pc) {
    std::uint64_t& near = near_[pc & (near_count - 1)];
    forget_if_there(near, near >> near_rule_bits << near_bits | (pc & (near_count - 1)));
  }
  for (std::uint64_t pc = start; pc < last && pc < start + far_count; ++pc)
    forget_if_there(first_[place(pc)], first_[place(pc)] >> 32 << far_bits | place(pc));
  for (std::size_t i = 0; __atomic_load_n(&second_used_, __ATOMIC_RELAXED) && i < far_count; ++i) {
    const auto rest = static_cast<std::uint32_t>(second_[i] >> 32);
    forget_if_there(second_[i], std::uint64_t{rest} << far_bits | second_place(i, rest));
  }
}

}  // namespace heapledger::probe

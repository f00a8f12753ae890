// The modules that rules were compiled from, so that these can be forgotten when one is unloaded. The segment's table
// of modules does not tell: a forked child's begins empty, while the rules are its parent's.
//
// A module is one word, the number of its first page and how many it has, so that all is done without a lock.
#pragma once

#include <cstdint>

#include "probe/base/attributes.hpp"

namespace heapledger::probe {

class rule_origins {
 public:
  enum class origin : std::uint8_t { none, known, fresh };  // of an address that no module holds; since it was loaded
  origin add(std::uint64_t address);

  // Calls `gone` with the start and the end of each that is not loaded any more; with those of all memory when there
  // was no room to remember one.
  template <class Gone>
  void sweep(Gone gone) {
    if (__atomic_load_n(&overflowed_, __ATOMIC_RELAXED)) return gone(std::uint64_t{0}, all_memory);
    for (std::uint32_t i = 0; i < most; ++i) {
      std::uint64_t module = __atomic_load_n(&modules_[i], __ATOMIC_ACQUIRE);
      if (module == 0 || module == word_at(start_of(module))) continue;
      if (__atomic_compare_exchange_n(&modules_[i], &module, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        gone(start_of(module), end_of(module));
    }
  }

 private:
  static constexpr std::uint32_t most = 2048;
  static constexpr unsigned page_bits = 12, count_bits = 29;
  static constexpr std::uint64_t all_memory = UINT64_MAX - 1;

  static std::uint64_t start_of(std::uint64_t module) { return module >> count_bits << page_bits; }
  static std::uint64_t end_of(std::uint64_t module) {
    return start_of(module) + ((module & ((1u << count_bits) - 1)) << page_bits);
  }
  // Of the module that holds an address; 0: none does.
  static std::uint64_t word_at(std::uint64_t address);

  std::uint64_t modules_[most] = {};
  bool overflowed_ = false;
};

}  // namespace heapledger::probe

// From the path of a stack to its account: all there is to look up for a stack that was met before.
//
// Lookups take no lock; entries are added under one and become visible with a release store. Which path an account has
// stands in its key, where the look at the account's owner needs the same cache line.
#pragma once

#include "probe/account/tag.hpp"
#include "probe/base/attributes.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

class account_index {
 public:
  bool create();

  // 0, which is nobody's: not found.
  HL_HOT std::uint32_t find(std::uint64_t path) const {
    const slots& in = *__atomic_load_n(&slots_, __ATOMIC_ACQUIRE);
    for (std::uint64_t at = path >> in.shift;; at = (at + 1) & in.mask) {
      const std::uint32_t entry = __atomic_load_n(&in.data[at], __ATOMIC_ACQUIRE);  // pairs with put()
      if (entry == 0) return 0;
      const std::uint32_t account = entry & (tag::account_limit - 1);
      if (HL_LIKELY((entry ^ tag_of(path)) >> 24 == 0 && segment.account_keys[account].path == path)) return account;
    }
  }

  // The caller serialises these. False: no memory.
  bool add(std::uint64_t path, std::uint32_t account);
  void clear();  // code was unloaded: the same path may mean other code

 private:
  struct slots {
    std::uint32_t* data;
    std::uint64_t mask;
    unsigned shift;
  };
  static std::uint32_t tag_of(std::uint64_t path) { return static_cast<std::uint32_t>(path) << 24; }
  static void put(const slots& in, std::uint64_t path, std::uint32_t account);
  bool grow();

  slots* slots_ = nullptr;
  std::uint32_t count_ = 0;
};

extern account_index accounts;

}  // namespace heapledger::probe

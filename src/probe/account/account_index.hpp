// From the path of a stack to its account: all there is to look up for a stack that was met before.
//
// Which path an account has stands in its key, where the look at the account's owner needs the same cache line.
#pragma once

#include "probe/base/attributes.hpp"

#include "probe/publish/id_index.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

class account_index {
  static std::uint64_t path_of(std::uint32_t account) { return segment.account_keys[account].path; }
  static auto has(std::uint64_t path) {
    return [path](std::uint32_t account) { return path_of(account) == path; };
  }
  // While the code of an account's stack is not loaded, its key has half of its path turned round, and its cell
  // contradicts that.
  static constexpr std::uint64_t turned = UINT32_MAX;
  static auto had(std::uint64_t path) { return has(path ^ turned); }

 public:
  bool create() { return ids_.create(); }

  // 0, which is nobody's: not found. Takes no lock.
  HL_HOT std::uint32_t find(std::uint64_t path) const { return ids_.find(path, has(path)); }

  // The account that the path has now: this one, unless another thread was faster. Takes no lock; 0: find_or_add().
  std::uint32_t add_unlocked(std::uint64_t path, std::uint32_t account) {
    return ids_.add_unlocked(path, account, has(path), had(path));
  }

  // The caller serialises these. 0: no memory.
  std::uint32_t find_or_add(std::uint64_t path, std::uint32_t account) {
    return ids_.find_or_add(path, account, has(path), path_of, had(path));
  }
  // Code was unloaded, and paths that go through it may come to mean other stacks: they are not found any more. Or it
  // has come back, and they are. No account below `first` can be of such a stack.
  void follow_code(std::uint32_t first);

 private:
  id_index ids_;
};

HL_INTERNAL extern account_index accounts;

}  // namespace heapledger::probe

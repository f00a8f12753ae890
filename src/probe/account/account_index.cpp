#include "probe/account/account_index.hpp"

#include "probe/publish/unloaded_nodes.hpp"

namespace heapledger::probe {

constinit account_index accounts;

void account_index::forget_unloaded() {
  ids_.clear([this] {
    const unloaded_nodes unloaded;
    const std::uint32_t count = __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE);
    for (std::uint32_t i = 1; i < count; ++i) {
      const wire::account_key& key = segment.account_keys[i];
      const bool of_scope = (key.owner & wire::owner_in_scope) != 0;  // found by scope/
      if (key.path == 0 || of_scope) continue;
      if (unloaded && !unloaded.of(key.node))
        ids_.add(key.path, i, path_of);
      else  // unloaded, or nobody knows: its stack gets a second account
        __atomic_store_n(&segment.accounts[i].id, ~wire::id_of_path(key.path), __ATOMIC_RELAXED);
    }
  });
}

}  // namespace heapledger::probe

#include "probe/account/account_index.hpp"

#include "probe/publish/stack_tree.hpp"

namespace heapledger::probe {

constinit account_index accounts;

void account_index::follow_code(std::uint32_t first) {
  const std::uint32_t count = __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE);
  for (std::uint32_t i = first; i < count; ++i) {
    wire::account_key& key = segment.account_keys[i];
    const bool of_scope = (key.owner & wire::owner_in_scope) != 0;  // found by scope/
    if (key.path == 0 || of_scope) continue;
    std::uint32_t& id = segment.accounts[i].id;
    const bool was_gone = id == ~wire::id_of_path(key.path);
    const bool is_gone = tree.is_unloaded(key.node);
    if (was_gone == is_gone) continue;
    __atomic_store_n(&key.path, key.path ^ turned, __ATOMIC_RELAXED);
    __atomic_store_n(&id, ~id, __ATOMIC_RELAXED);
    if (!is_gone) find_or_add(key.path, i);
  }
}

}  // namespace heapledger::probe

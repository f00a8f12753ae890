#include "probe/publish/stack_tree.hpp"

#include <sys/mman.h>

#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/publish/modules.hpp"

namespace heapledger::probe {

constinit stack_tree tree;

namespace {
constexpr unsigned first_bits = 12;
}

void stack_tree::put(const index& in, std::uint64_t hash, std::uint32_t node) {
  std::uint64_t slot = hash >> in.shift;
  while (in.slots[slot] != 0) slot = (slot + 1) & in.mask;
  __atomic_store_n(&in.slots[slot], node | tag_of(hash), __ATOMIC_RELEASE);  // pairs with the acquire in child()
}

// A thread may still be looking something up in the old index: its address range stays, and its pages, given back, read
// as zeros, which sends that thread to add(), where the lock and the new index tell the truth.
bool stack_tree::grow() {
  const unsigned bits = index_ == nullptr ? first_bits : 64 - index_->shift + 1;
  auto* next = static_cast<index*>(own_piece(sizeof(index)));
  auto* slots = static_cast<std::uint32_t*>(own_map(sizeof(std::uint32_t) << bits));
  if (next == nullptr || slots == nullptr) return false;
  *next = {slots, (std::uint64_t{1} << bits) - 1, 64 - bits};
  for (std::uint32_t i = 1; index_ != nullptr && i < segment.header->node_count; ++i) {
    const wire::node& node = segment.nodes[i];
    if ((node.where & wire::node_unloaded) == 0) put(*next, mix(node.parent, node.where & key_mask), i);
  }
  const index* old = index_;
  __atomic_store_n(&index_, next, __ATOMIC_RELEASE);
  if (old != nullptr) sys::madvise(old->slots, (old->mask + 1) * sizeof(std::uint32_t), MADV_DONTNEED);
  return true;
}

bool stack_tree::create() {
  index_ = nullptr;
  return grow();
}

void stack_tree::reset() {
  lock_ = 0;
  index_ = nullptr;
}

std::uint32_t stack_tree::add(std::uint32_t parent, std::uint64_t pc) {
  const std::uint64_t module = modules.find(pc & ~wire::node_exact_address) + 1;  // none + 1 is 0
  lock_guard held(lock_);
  // Another thread may have been faster; its entry may even be only in a newer index.
  const std::uint64_t hash = mix(parent, pc);
  for (std::uint64_t slot = hash >> index_->shift;; slot = (slot + 1) & index_->mask) {
    const std::uint32_t entry = index_->slots[slot];
    if (entry == 0) break;
    const wire::node& node = segment.nodes[entry & node_mask];
    if (node.parent == parent && (node.where & key_mask) == pc) return entry & node_mask;
  }
  const std::uint32_t fresh = segment.header->node_count;
  const bool crowded = std::uint64_t{fresh} * 4 > (index_->mask + 1) * 3;
  if (fresh > node_mask || !commit(segment.nodes, fresh + 1) || (crowded && !grow())) {
    count_loss(wire::loss::nodes_full);
    return parent;
  }
  segment.nodes[fresh] = {pc | module << wire::node_module_shift, parent, 0};
  segment.header->node_count = fresh + 1;
  put(*index_, hash, fresh);
  return fresh;
}

void stack_tree::retire(std::uint64_t start, std::uint64_t end) {
  lock_guard held(lock_);
  for (std::uint32_t i = 1; i < segment.header->node_count; ++i) {
    wire::node& node = segment.nodes[i];
    const std::uint64_t pc = node.where & wire::node_address_mask & ~wire::node_exact_address;
    if (pc >= start && pc <= end) __atomic_store_n(&node.where, node.where | wire::node_unloaded, __ATOMIC_RELAXED);
  }
}

}  // namespace heapledger::probe

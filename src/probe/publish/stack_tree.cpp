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

// 0, which is no child: not found.
std::uint32_t stack_tree::find(const index& in, std::uint32_t parent, std::uint64_t pc) {
  const std::uint64_t hash = mix(parent, pc);
  for (std::uint64_t slot = hash >> in.shift;; slot = (slot + 1) & in.mask) {
    const std::uint32_t entry = __atomic_load_n(&in.slots[slot], __ATOMIC_ACQUIRE);
    if (entry == 0) return 0;
    if ((entry ^ tag_of(hash)) >> node_bits != 0) continue;
    const wire::node& node = segment.nodes[entry & node_mask];
    if (node.parent == parent && (node.where & key_mask) == pc) return entry & node_mask;
  }
}

std::uint32_t stack_tree::add(std::uint32_t parent, std::uint64_t pc, std::uint64_t module) {
  const std::uint32_t fresh = segment.header->node_count;
  const bool crowded = std::uint64_t{fresh} * 8 > (index_->mask + 1) * 7;
  if (fresh > node_mask || !commit(segment.nodes, fresh + 1) || (crowded && !grow())) {
    count_loss(wire::loss::nodes_full);
    return parent;
  }
  segment.nodes[fresh] = {pc | module << wire::node_module_shift, parent, 0};
  segment.header->node_count = fresh + 1;
  put(*index_, mix(parent, pc), fresh);
  return fresh;
}

HL_COLD void stack_tree::descend(std::uint32_t parent, const std::uint64_t* pcs, std::uint32_t* nodes,
                                 std::uint32_t count) {
  const index& in = *__atomic_load_n(&index_, __ATOMIC_ACQUIRE);
  std::uint32_t i = 0;
  for (; i < count; parent = nodes[i++])
    if (nodes[i] = find(in, parent, pcs[i]); nodes[i] == 0) break;
  if (i == count) return;
  std::uint16_t module_of[descend_limit];  // 0 is none; looked up here because a new module takes a lock too
  for (std::uint32_t j = i; j < count; ++j)
    module_of[j] = static_cast<std::uint16_t>(modules.find(pcs[j] & ~wire::node_exact_address) + 1);
  inner_lock_guard held(lock_);
  // What is added comes one after the other, so that the places in the index are known before: fetch them together.
  std::uint32_t above = parent;
  for (std::uint32_t j = i, fresh = segment.header->node_count; j < count; ++j, above = fresh++)
    __builtin_prefetch(&index_->slots[mix(above, pcs[j]) >> index_->shift], 1);
  bool may_be_there = true;  // another thread may have been faster; its entry may even be only in a newer index
  for (; i < count; parent = nodes[i++]) {
    nodes[i] = may_be_there ? find(*index_, parent, pcs[i]) : 0;
    may_be_there = nodes[i] != 0;
    if (!may_be_there) nodes[i] = add(parent, pcs[i], module_of[i]);
  }
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

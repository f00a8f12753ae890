#include "probe/publish/stack_tree.hpp"

#include "probe/base/lock.hpp"
#include "probe/publish/modules.hpp"

namespace heapledger::probe {

constinit stack_tree tree;

namespace {

constexpr std::uint64_t key_mask = wire::place_address_mask | wire::place_unloaded;

std::uint64_t mix(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return (value ^ value >> 32) * 0xd6e8feb86659fd93u;
}

std::uint64_t hash_of_node(std::uint32_t parent, std::uint32_t place) {
  return mix(std::uint64_t{parent} << 32 | place);
}

}  // namespace

bool stack_tree::create() {
  return nodes_.create() && places_.create();
}

void stack_tree::reset() {
  lock_ = 0;
}

std::uint32_t stack_tree::find_place(std::uint64_t pc) const {
  return places_.find(mix(pc), [pc](std::uint32_t place) { return (segment.places[place].where & key_mask) == pc; });
}

std::uint32_t stack_tree::find_node(std::uint32_t parent, std::uint32_t place) const {
  return nodes_.find(hash_of_node(parent, place), [=](std::uint32_t node) {
    return segment.nodes[node].parent == parent && segment.nodes[node].place == place;
  });
}

std::uint32_t stack_tree::add_place(std::uint64_t pc, std::uint64_t module) {
  const std::uint32_t fresh = segment.header->place_count;
  if (!commit(segment.places, fresh + 1)) return 0;
  segment.places[fresh].where = pc | module << wire::place_module_shift;
  segment.header->place_count = fresh + 1;
  return places_.add(mix(pc), fresh, [](std::uint32_t place) { return mix(segment.places[place].where & key_mask); })
             ? fresh
             : 0;
}

std::uint32_t stack_tree::add_node(std::uint32_t parent, std::uint32_t place) {
  const std::uint32_t fresh = segment.header->node_count;
  if (place == 0 || fresh > id_index::id_mask || !commit(segment.nodes, fresh + 1)) return 0;
  segment.nodes[fresh] = {place, parent};
  segment.header->node_count = fresh + 1;
  return nodes_.add(
             hash_of_node(parent, place), fresh,
             [](std::uint32_t node) { return hash_of_node(segment.nodes[node].parent, segment.nodes[node].place); })
             ? fresh
             : 0;
}

HL_COLD void stack_tree::descend(std::uint32_t parent, const std::uint64_t* pcs, std::uint32_t* nodes,
                                 std::uint32_t count) {
  std::uint32_t places[descend_limit];
  for (std::uint32_t i = 0; i < count; ++i) places[i] = find_place(pcs[i]);
  std::uint32_t i = 0;
  for (; i < count; parent = nodes[i++])
    if (nodes[i] = places[i] != 0 ? find_node(parent, places[i]) : 0; nodes[i] == 0) break;
  if (i == count) return;

  std::uint16_t modules_of[descend_limit];  // 0 is none; looked up here because a new module takes a lock too
  for (std::uint32_t j = i; j < count; ++j)
    if (places[j] == 0)
      modules_of[j] = static_cast<std::uint16_t>(modules.find(pcs[j] & ~wire::place_exact_address) + 1);
  const inner_lock_guard held(lock_);
  for (std::uint32_t j = i; j < count; ++j)
    if (places[j] == 0 && (places[j] = find_place(pcs[j])) == 0) places[j] = add_place(pcs[j], modules_of[j]);
  // What is added comes one after the other, so that its places in the index are known before: fetch them together.
  for (std::uint32_t j = i, above = parent, fresh = segment.header->node_count; j < count; ++j, above = fresh++)
    nodes_.prefetch(hash_of_node(above, places[j]));
  bool may_be_there = true;  // another thread may have been faster; its entry may even be only in a newer index
  for (; i < count; parent = nodes[i++]) {
    nodes[i] = may_be_there ? find_node(parent, places[i]) : 0;
    may_be_there = nodes[i] != 0;
    if (may_be_there) continue;
    nodes[i] = add_node(parent, places[i]);
    if (nodes[i] != 0) continue;
    count_loss(wire::loss::nodes_full);
    nodes[i] = parent;
  }
}

void stack_tree::retire(std::uint64_t start, std::uint64_t end) {
  lock_guard held(lock_);
  for (std::uint32_t i = 1; i < segment.header->place_count; ++i) {
    std::uint64_t& where = segment.places[i].where;
    const std::uint64_t pc = where & wire::place_address_mask & ~wire::place_exact_address;
    if (pc >= start && pc <= end) __atomic_store_n(&where, where | wire::place_unloaded, __ATOMIC_RELAXED);
  }
}

}  // namespace heapledger::probe

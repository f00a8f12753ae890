#include "probe/publish/stack_tree.hpp"

#include "probe/base/lock.hpp"
#include "probe/publish/modules.hpp"
#include "probe/publish/nodes.hpp"

namespace heapledger::probe {

constinit stack_tree tree;

namespace {

constexpr std::uint64_t key_mask = wire::place_address_mask | wire::place_unloaded;

std::uint64_t key_of(std::uint32_t place) {
  return segment.places[place].where & key_mask;
}

std::uint64_t mix(std::uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return (value ^ value >> 32) * 0xd6e8feb86659fd93u;
}

}  // namespace

bool stack_tree::create() {
  cleaned_nodes_ = indexed_count_ = 0;
  unloaded_.reset();
  return nodes_.create() && places_.create();
}

void stack_tree::reset() {
  lock_ = 0;
}

std::uint32_t stack_tree::find_place(std::uint64_t pc) const {
  return places_.find(mix(pc), [pc](std::uint32_t place) { return key_of(place) == pc; });
}

std::uint32_t stack_tree::find_node(std::uint64_t path, std::uint32_t parent, std::uint32_t place) const {
  return nodes_.find(path, [=](std::uint32_t node) {
    return segment.nodes[node].parent == parent && segment.nodes[node].place == place;
  });
}

void stack_tree::prefetch(std::uint64_t pc) const {
  places_.prefetch(mix(pc));
}

std::uint32_t stack_tree::append(std::uint32_t parent, const std::uint64_t* pcs, std::uint32_t count) {
  std::uint32_t places[descend_limit];
  bool all_known = true;
  for (std::uint32_t i = 0; i < count; ++i) all_known &= (places[i] = find_place(pcs[i])) != 0;
  if (HL_UNLIKELY(!all_known)) {
    const signals_blocked quiet;
    if (!add_places(places, pcs, count)) return 0;
  }
  const std::uint32_t first = reserve_nodes(count, [this](std::uint32_t needed) {
    const lock_guard held(lock_);
    return commit(segment.nodes, needed);
  });
  if (first == 0) return 0;
  for (std::uint32_t i = 0; i < count; ++i) write_node(first + i, {places[i], i == 0 ? parent : first + i - 1});
  __builtin_prefetch(&segment.nodes[first + count + 7], 1);  // for the next stack
  return first + count - 1;
}

std::uint32_t stack_tree::add_place(std::uint64_t pc, std::uint64_t module) {
  const std::uint32_t fresh = segment.header->place_count;
  if (!commit(segment.places, fresh + 1)) return 0;
  segment.places[fresh].where = pc | module << wire::place_module_shift;
  segment.header->place_count = fresh + 1;
  return put_place(fresh) ? fresh : 0;
}

// A place of unloaded code that was at the same address has no use for its slot.
bool stack_tree::put_place(std::uint32_t place) {
  const std::uint64_t key = key_of(place);
  const auto same_as = [](std::uint64_t wanted) {
    return [wanted](std::uint32_t other) { return key_of(other) == wanted; };
  };
  const auto hash_of = [](std::uint32_t other) { return mix(key_of(other)); };
  return places_.find_or_add(mix(key), place, same_as(key), hash_of, same_as(key | wire::place_unloaded)) != 0;
}

std::uint32_t stack_tree::add_node(std::uint64_t path, std::uint32_t parent, std::uint32_t place) {
  if (place == 0) return 0;
  if (HL_UNLIKELY(nodes_.crowded()) && !nodes_.grow([this](auto put) { for_each_indexed(put); })) return 0;
  if (HL_UNLIKELY(indexed_count_ == indexed_room_) && !make_room_for_indexed()) return 0;
  const std::uint32_t fresh = reserve_nodes(1, [](std::uint32_t needed) { return commit(segment.nodes, needed); });
  if (fresh == 0) return 0;
  write_node(fresh, {place, parent});
  indexed_[indexed_count_++] = {path, fresh};
  nodes_.put(path, fresh);
  return fresh;
}

HL_COLD bool stack_tree::make_room_for_indexed() {
  const std::uint32_t room = indexed_room_ == 0 ? few_nodes : indexed_room_ * 2;
  auto* const larger = static_cast<indexed_node*>(own_map(room * sizeof(indexed_node)));
  if (larger == nullptr) return false;
  indexed_node* const smaller = indexed_;
  if (smaller != nullptr) __builtin_memcpy(larger, smaller, indexed_count_ * sizeof(indexed_node));
  indexed_ = larger;
  indexed_room_ = room;
  if (smaller != nullptr) own_unmap(smaller, room / 2 * sizeof(indexed_node));  // last: a child keeps what it finds
  return true;
}

HL_COLD bool stack_tree::add_places(std::uint32_t* places, const std::uint64_t* pcs, std::uint32_t count) {
  std::uint16_t modules_of[descend_limit];  // 0 is none; looked up here because a new module takes a lock too
  for (std::uint32_t i = 0; i < count; ++i)
    if (places[i] == 0)
      modules_of[i] = static_cast<std::uint16_t>(modules.find(pcs[i] & ~wire::place_exact_address) + 1);
  const inner_lock_guard held(lock_);
  bool all = true;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (places[i] != 0) continue;
    places[i] = find_place(pcs[i]);  // another thread may have been faster
    if (places[i] == 0) places[i] = add_place(pcs[i], modules_of[i]);
    all &= places[i] != 0;
  }
  return all;
}

HL_COLD void stack_tree::descend(std::uint32_t parent, const stack_step* steps, std::uint32_t* nodes,
                                 std::uint32_t count) {
  std::uint64_t pcs[descend_limit];
  std::uint32_t places[descend_limit];
  for (std::uint32_t i = 0; i < count; ++i) places[i] = find_place(pcs[i] = steps[i].pc);
  std::uint32_t i = 0;
  for (; i < count; parent = nodes[i++])
    if (nodes[i] = places[i] != 0 ? find_node(steps[i].path, parent, places[i]) : 0; nodes[i] == 0) break;
  if (i == count) return;

  add_places(places, pcs, count);
  const inner_lock_guard held(lock_);
  bool may_be_there = true;  // another thread may have been faster; its entry may even be only in a newer index
  for (; i < count; parent = nodes[i++]) {
    nodes[i] = may_be_there ? find_node(steps[i].path, parent, places[i]) : 0;
    may_be_there = nodes[i] != 0;
    if (may_be_there) continue;
    nodes[i] = add_node(steps[i].path, parent, places[i]);
    if (nodes[i] != 0) continue;
    count_loss(wire::loss::nodes_full);
    nodes[i] = parent;
  }
}

void stack_tree::retire(std::uint64_t start, std::uint64_t end, std::uint32_t first) {
  lock_guard held(lock_);
  for (std::uint32_t i = first; i < segment.header->place_count; ++i) {
    std::uint64_t& where = segment.places[i].where;
    const std::uint64_t pc = where & wire::place_address_mask & ~wire::place_exact_address;
    if (pc >= start && pc <= end) __atomic_store_n(&where, where | wire::place_unloaded, __ATOMIC_RELAXED);
  }
}

void stack_tree::restore(std::uint32_t module, std::uint32_t first) {
  lock_guard held(lock_);
  for (std::uint32_t i = first; i < segment.header->place_count; ++i) {
    std::uint64_t& where = segment.places[i].where;
    if ((where >> wire::place_module_shift & wire::place_module_mask) != module + 1) continue;
    __atomic_store_n(&where, where & ~wire::place_unloaded, __ATOMIC_RELAXED);
    put_place(i);
  }
}

void stack_tree::follow_code(std::uint32_t first) {
  const lock_guard held(lock_);
  unloaded_.follow(first);
  if (indexed_count_ < cleaned_nodes_ + few_nodes) return;
  std::uint32_t kept = 0;
  for (std::uint32_t i = 0; i < indexed_count_; ++i)
    if (!is_unloaded(indexed_[i].node)) indexed_[kept++] = indexed_[i];
  indexed_count_ = cleaned_nodes_ = kept;
  nodes_.clear(
      [this] { for_each_indexed([this](std::uint64_t path, std::uint32_t node) { nodes_.put(path, node); }); });
}

}  // namespace heapledger::probe

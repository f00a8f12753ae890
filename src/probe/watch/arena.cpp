#include "probe/watch/arena.hpp"

#include <sys/mman.h>

#include "probe/base/address_space.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

constinit watch_window window = {std::uint64_t{1} << 63, 0};

namespace {

enum class arena_state : std::uint8_t { absent, shared, apart };

struct arena {
  std::uint32_t first;
  std::uint32_t slots;
  std::uint32_t used;  // slots handed out at least once
  std::uint32_t runs;  // that hold a block
  char* private_view;  // while it is shared
  arena_state state;
  bool parting;  // in a fork: the private view of what was used is in place
};

struct slot_link {
  std::uint32_t next;
  std::uint8_t order;  // of the run that begins here
  bool occupied;
};

// Freed runs of one length, oldest first.
struct run_queue {
  std::uint32_t first, last, count;
};

constexpr std::uint32_t arena_slots = 4096;
constexpr std::uint32_t arena_limit = 4096;  // each is one mapping or two
constexpr unsigned orders = 13;              // up to a whole arena
constexpr std::uint32_t kept_freed_slots = 1024;

constinit arena arenas[arena_limit] = {};  // by their first slots; together they are the window
constinit std::uint32_t arena_count = 0;
constinit std::uint32_t current = 0;  // the one that gave the last fresh run
constinit run_queue queues[orders] = {};
constinit slot_link* links = nullptr;

std::uint32_t find(std::uint32_t slot) {
  std::uint32_t low = 0, high = arena_count;
  while (high - low > 1) {
    const std::uint32_t middle = (low + high) / 2;
    (arenas[middle].first <= slot ? low : high) = middle;
  }
  return low;
}

// Cuts an arena in two; the new one is the second. False: there are too many.
bool cut(std::uint32_t index, std::uint32_t slots) {
  if (arena_count == arena_limit) return false;
  __builtin_memmove(&arenas[index + 2], &arenas[index + 1], (arena_count - index - 1) * sizeof(arena));
  ++arena_count;
  arena& from = arenas[index];
  arenas[index + 1] = {from.first + slots, from.slots - slots, 0, 0, nullptr, from.state, false};
  from.slots = slots;
  return true;
}

void join_next(std::uint32_t index) {
  arenas[index].slots += arenas[index + 1].slots;
  --arena_count;
  __builtin_memmove(&arenas[index + 1], &arenas[index + 2], (arena_count - index - 1) * sizeof(arena));
}

// Nothing is there any more but the reservation; one with its neighbours that are so too.
void leave_absent(std::uint32_t index) {
  arena& left = arenas[index];
  left = {left.first, left.slots, 0, 0, nullptr, arena_state::absent, false};
  if (index + 1 < arena_count && arenas[index + 1].state == arena_state::absent) join_next(index);
  if (index != 0 && arenas[index - 1].state == arena_state::absent) join_next(index - 1);
}

void drop(std::uint32_t index) {
  arena& gone = arenas[index];
  reserve_again(address_of(gone.first), gone.slots, reservation::over);
  unmap_view(gone.private_view, gone.slots);
  leave_absent(index);
}

void push(run_queue& queue, std::uint32_t slot) {
  links[slot].next = no_slot;
  if (queue.count++ == 0)
    queue.first = slot;
  else
    links[queue.last].next = slot;
  queue.last = slot;
}

std::uint32_t pop(run_queue& queue) {
  const std::uint32_t slot = queue.first;
  queue.first = links[slot].next;
  --queue.count;
  return slot;
}

// Without those in arenas that are not shared any more.
void filter(run_queue& queue) {
  run_queue kept{};
  for (std::uint32_t left = queue.count, slot = queue.first; left != 0; --left) {
    const std::uint32_t next = links[slot].next;
    if (arenas[find(slot)].state == arena_state::shared) push(kept, slot);
    slot = next;
  }
  queue = kept;
}

// A shared arena in the largest stretch where there is none.
watch_trouble make_arena(std::uint32_t least_slots, std::uint32_t& index) {
  index = arena_count;
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (arenas[i].state == arena_state::absent && arenas[i].slots >= least_slots &&
        (index == arena_count || arenas[i].slots > arenas[index].slots))
      index = i;
  if (index == arena_count) return {};
  if (arenas[index].slots > arena_slots && !cut(index, arena_slots)) {
    index = arena_count;
    return {};
  }
  arena& made = arenas[index];
  watch_trouble trouble{wire::watch_obstacle::no_address_room, 0};
  if (made.slots <= arena_slot_limit()) trouble = map_arena(address_of(made.first), made.slots, made.private_view);
  if (trouble.obstacle == wire::watch_obstacle::none)
    made.state = arena_state::shared;
  else
    leave_absent(index);
  return trouble;
}

std::uint32_t from_arena(std::uint32_t index, unsigned order) {
  arena& in = arenas[index];
  if (in.state != arena_state::shared || in.used + (1u << order) > in.slots) return no_slot;
  const std::uint32_t slot = in.first + in.used;
  in.used += 1u << order;
  links[slot].order = static_cast<std::uint8_t>(order);
  current = index;
  return slot;
}

std::uint32_t fresh_run(unsigned order, watch_trouble& trouble) {
  if (current < arena_count)
    if (const std::uint32_t slot = from_arena(current, order); slot != no_slot) return slot;
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (const std::uint32_t slot = from_arena(i, order); slot != no_slot) return slot;
  std::uint32_t made = 0;
  trouble = make_arena(1u << order, made);
  return trouble.obstacle == wire::watch_obstacle::none && made < arena_count ? from_arena(made, order) : no_slot;
}

}  // namespace

watch_trouble reserve_window(std::uint32_t& slot_limit) {
  slot_limit = static_cast<std::uint32_t>(window.bytes / wire::watch_slot_bytes);
  if (window.bytes != 0) return {};
  std::uint32_t slots = wire::watch_slot_capacity;
  while (slots >= arena_slots && slots > window_slot_limit()) slots /= 2;
  std::uint64_t base = 0;
  while (slots >= arena_slots && (base = reserve_slots(slots)) == 0) slots /= 2;
  if (base == 0) return {wire::watch_obstacle::no_address_room, 12 /* ENOMEM */};
  links = static_cast<slot_link*>(own_map(sizeof(slot_link) * slots));
  if (links == nullptr) {
    sys::call(__NR_munmap, base, slots * wire::watch_slot_bytes);
    let_go(slots * wire::watch_slot_bytes, 0);
    return {wire::watch_obstacle::no_address_room, 12};
  }
  arenas[0] = {0, slots, 0, 0, nullptr, arena_state::absent, false};
  arena_count = 1;
  slot_limit = slots;
  take_spare_mappings();
  window.base = base;
  __atomic_store_n(&window.bytes, slots * wire::watch_slot_bytes, __ATOMIC_RELEASE);
  return {};
}

watch_trouble try_arena() {
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (arenas[i].state == arena_state::shared) return {};
  std::uint32_t made = 0;
  return make_arena(1, made);
}

std::uint32_t take_run(std::uint64_t slots, watch_trouble& trouble) {
  trouble = {};
  if (slots > arena_slots) return no_slot;
  const unsigned order = slots <= 1 ? 0 : 32 - static_cast<unsigned>(__builtin_clz(static_cast<unsigned>(slots - 1)));
  run_queue& freed = queues[order];
  std::uint32_t slot = no_slot;
  if (freed.count <= kept_freed_slots >> order) slot = fresh_run(order, trouble);
  if (slot == no_slot && freed.count != 0) slot = pop(freed);
  if (slot == no_slot) return slot;
  ++arenas[find(slot)].runs;
  links[slot].occupied = true;
  return slot;
}

std::uint32_t run_length(std::uint32_t slot) {
  return 1u << links[slot].order;
}

bool is_apart(std::uint32_t slot) {
  return arenas[find(slot)].state == arena_state::apart;
}

bool begins_run(std::uint32_t slot) {
  return links[slot].occupied;
}

void give_run(std::uint32_t slot) {
  if (!links[slot].occupied) return;  // freed twice, where nothing is booked
  links[slot].occupied = false;
  const std::uint32_t index = find(slot);
  arena& from = arenas[index];
  --from.runs;
  if (from.parting) return;  // it is becoming apart, and the run goes with it
  if (from.state == arena_state::shared) {
    if (empty_slots(address_of(slot), run_length(slot))) push(queues[links[slot].order], slot);
  } else if (from.runs == 0) {
    drop(index);
  } else {
    sys::madvise(address_of(slot), run_length(slot) * wire::watch_slot_bytes, MADV_DONTNEED);
  }
}

void privatise_arenas() {
  for (std::uint32_t i = 0; i < arena_count; ++i) {
    arena& each = arenas[i];
    if (each.state == arena_state::shared && each.runs != 0)
      each.parting = move_view(each.private_view, address_of(each.first), each.used) ||
                     (give_spare_mappings() && move_view(each.private_view, address_of(each.first), each.used));
  }
}

void part_from_child(void (*apart)(std::uint32_t slot)) {
  bool any = false;
  for (std::uint32_t i = 0; i < arena_count; ++i) {
    if (!arenas[i].parting) continue;
    any = true;
    char* const rest = arenas[i].private_view + arenas[i].used * wire::watch_slot_bytes;
    if (arenas[i].used < arenas[i].slots) {
      if (cut(i, arenas[i].used))
        arenas[i + 1].private_view = rest;  // goes on
      else
        unmap_view(rest, arenas[i].slots - arenas[i].used);
    }
    arena& parted = arenas[i];
    parted.state = arena_state::apart;
    parted.private_view = nullptr;
    parted.parting = false;
    for (std::uint32_t at = 0; at < parted.used; at += run_length(parted.first + at)) apart(parted.first + at);
  }
  if (!any) return;
  take_spare_mappings();
  for (run_queue& queue : queues) filter(queue);
  for (std::uint32_t i = arena_count; i-- != 0;)
    if (arenas[i].state == arena_state::apart && arenas[i].runs == 0) drop(i);
}

void keep_inherited() {
  for (std::uint32_t i = arena_count; i-- != 0;) {
    if (arenas[i].state == arena_state::apart || arenas[i].state == arena_state::absent) continue;
    std::uint32_t hole = i;
    if (arenas[i].parting) {
      arenas[i].parting = false;
      char* const view = arenas[i].private_view;
      arenas[i].private_view = nullptr;
      const std::uint32_t used = arenas[i].used, rest = arenas[i].slots - used;
      if (rest != 0) unmap_view(view + used * wire::watch_slot_bytes, rest);
      const bool is_cut = rest != 0 && cut(i, used);
      arenas[i].state = arena_state::apart;
      if (!is_cut) {
        if (rest != 0) reserve_again(address_of(arenas[i].first + used), rest, reservation::where_free);
        continue;
      }
      hole = i + 1;
    }
    // Not inherited, and nothing else must get the addresses.
    unmap_view(arenas[hole].private_view, arenas[hole].slots);
    reserve_again(address_of(arenas[hole].first), arenas[hole].slots, reservation::where_free);
    leave_absent(hole);
  }
  for (run_queue& queue : queues) queue = {};
}

}  // namespace heapledger::probe

#include "probe/watch/arena.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

constinit watch_window window = {std::uint64_t{1} << 63, 0};

namespace {

enum class arena_state : std::uint8_t { absent, shared, apart };

struct arena {
  arena_state state;
  bool parting;        // in a fork: its private mapping is in place
  std::uint32_t used;  // slots handed out at least once
  std::uint32_t runs;  // that hold a block
  void* private_view;  // nullptr once it was moved
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

constexpr std::uint32_t arena_limit = wire::watch_slot_capacity / arena_slots;
constexpr unsigned orders = 13;  // up to a whole arena
constexpr std::uint32_t kept_freed_slots = 1024;

constinit arena arenas[arena_limit] = {};
constinit run_queue queues[orders] = {};
constinit slot_link* links = nullptr;
constinit std::uint32_t arena_count = 0;  // that the window has room for
constinit std::uint32_t high_slots = 0;

std::uint64_t limit_of(int resource) {
  struct {
    std::uint64_t soft, hard;
  } limit{};
  return sys::call(__NR_prlimit64, 0, resource, 0, sys::word(&limit)) == 0 ? limit.soft : ~std::uint64_t{0};
}

char* begin_of(std::uint32_t arena_index) {
  return address_of(arena_index * arena_slots);
}

void* map_at(void* at, std::uint64_t bytes, int protection, int flags, int fd) {
  const long result = sys::call(__NR_mmap, sys::word(static_cast<char*>(at)), bytes, protection, flags, fd, 0);
  return result < 0 && result > -4096 ? nullptr : reinterpret_cast<void*>(result);
}

bool reserve(void* at, std::uint64_t bytes, int how) {
  return map_at(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | how, -1) == at;
}

// At a multiple of a slot: fault-around works on such multiples. 0: no room.
std::uint64_t reserve_aligned(std::uint64_t bytes) {
  constexpr std::uint64_t step = wire::watch_slot_bytes;
  void* const map = map_at(nullptr, bytes + step, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (map == nullptr) return 0;
  const auto at = reinterpret_cast<std::uint64_t>(map);
  const std::uint64_t base = (at + step - 1) & ~(step - 1);
  if (base != at) sys::munmap(map, base - at);
  if (base != at + step) sys::munmap(reinterpret_cast<void*>(base + bytes), at + step - base);
  return base;
}

// Where mlockall asked for it, a new mapping is filled at once: this one holds 256 MiB of nothing. Without access it is
// not, and then it is unlocked.
void* map_unlocked(void* at, int flags, int fd) {
  void* map = map_at(at, arena_bytes, PROT_NONE, flags | MAP_NORESERVE, fd);
  if (map == nullptr) return nullptr;
  sys::call(__NR_munlock, sys::word(static_cast<char*>(map)), arena_bytes);
  if (sys::call(__NR_mprotect, sys::word(static_cast<char*>(map)), arena_bytes, PROT_READ | PROT_WRITE) != 0) {
    if ((flags & MAP_FIXED) == 0) sys::munmap(map, arena_bytes);
    return nullptr;
  }
  sys::madvise(map, arena_bytes, MADV_NOHUGEPAGE);
  return map;
}

// That a page that was made absent is still what it was.
bool arming_works(char* at) {
  constexpr std::uint64_t pattern = 0x6865'6170'6c65'6467;
  volatile auto& word = *reinterpret_cast<std::uint64_t*>(at);
  word = pattern;
  const bool kept = sys::madvise(at, 4096, MADV_DONTNEED) == 0 && word == pattern;
  word = 0;
  return kept && sys::madvise(at, 4096, MADV_REMOVE) == 0;
}

watch_trouble make_arena(std::uint32_t index) {
  if (limit_of(RLIMIT_FSIZE) < arena_bytes) return {wire::watch_obstacle::no_address_room, 0};
  const long fd = sys::call(__NR_memfd_create, sys::word("heapledger-watch"), 1 /* MFD_CLOEXEC */);
  if (fd < 0) return {wire::watch_obstacle::no_memfd, static_cast<int>(-fd)};
  char* const at = begin_of(index);
  void* private_view = nullptr;
  watch_trouble trouble{wire::watch_obstacle::no_address_room, 0};
  if (const long cut = sys::ftruncate(static_cast<int>(fd), arena_bytes); cut != 0)
    trouble.error = static_cast<int>(-cut);
  if (trouble.error == 0) private_view = map_unlocked(nullptr, MAP_PRIVATE, static_cast<int>(fd));
  if (private_view != nullptr && map_unlocked(at, MAP_SHARED | MAP_FIXED, static_cast<int>(fd)) != nullptr)
    trouble.obstacle = wire::watch_obstacle::none;
  sys::close(static_cast<int>(fd));
  if (trouble.obstacle == wire::watch_obstacle::none && sys::madvise(at, arena_bytes, MADV_DONTFORK) != 0)
    trouble.obstacle = wire::watch_obstacle::no_fork_handler;
  if (trouble.obstacle == wire::watch_obstacle::none && !arming_works(at))
    trouble.obstacle = wire::watch_obstacle::no_arming;
  if (trouble.obstacle != wire::watch_obstacle::none) {
    if (private_view != nullptr) sys::munmap(private_view, arena_bytes);
    reserve(at, arena_bytes, MAP_FIXED);
    return trouble;
  }
  arenas[index] = {arena_state::shared, false, 0, 0, private_view};
  return trouble;
}

void drop_arena(std::uint32_t index) {
  arena& gone = arenas[index];
  reserve(begin_of(index), arena_bytes, MAP_FIXED);
  if (gone.private_view != nullptr) sys::munmap(gone.private_view, arena_bytes);
  gone = {};
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

std::uint32_t from_arena(std::uint32_t index, unsigned order) {
  arena& in = arenas[index];
  if (in.state != arena_state::shared || in.used + (1u << order) > arena_slots) return no_slot;
  const std::uint32_t slot = index * arena_slots + in.used;
  in.used += 1u << order;
  links[slot].order = static_cast<std::uint8_t>(order);
  if (slot + (1u << order) > high_slots) high_slots = slot + (1u << order);
  return slot;
}

std::uint32_t fresh_run(unsigned order, watch_trouble& trouble) {
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (const std::uint32_t slot = from_arena(i, order); slot != no_slot) return slot;
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (arenas[i].state == arena_state::absent) {
      trouble = make_arena(i);
      return trouble.obstacle == wire::watch_obstacle::none ? from_arena(i, order) : no_slot;
    }
  return no_slot;
}

// Those of arenas that are not shared any more.
void filter(run_queue& queue) {
  run_queue kept{};
  for (std::uint32_t left = queue.count, slot = queue.first; left != 0; --left) {
    const std::uint32_t next = links[slot].next;
    if (arenas[slot / arena_slots].state == arena_state::shared) push(kept, slot);
    slot = next;
  }
  queue = kept;
}

}  // namespace

watch_trouble reserve_window(std::uint32_t& slot_limit) {
  slot_limit = arena_count * arena_slots;
  if (window.bytes != 0) return {};
  constexpr watch_trouble no_room{wire::watch_obstacle::no_address_room, 12 /* ENOMEM */};
  // A program that limits its address space must find it as large as without us: we take a small part, twice.
  const std::uint64_t most = limit_of(RLIMIT_AS) / 32;
  std::uint32_t count = arena_limit;
  while (count != 0 && count * arena_bytes > most) count /= 2;
  std::uint64_t base = 0;
  while (count != 0 && (base = reserve_aligned(count * arena_bytes)) == 0) count /= 2;
  if (base == 0) return no_room;
  links = static_cast<slot_link*>(own_map(sizeof(slot_link) * count * arena_slots));
  if (links == nullptr) {
    sys::munmap(reinterpret_cast<void*>(base), count * arena_bytes);
    return no_room;
  }
  arena_count = count;
  slot_limit = count * arena_slots;
  window.base = base;
  __atomic_store_n(&window.bytes, count * arena_bytes, __ATOMIC_RELEASE);
  return {};
}

watch_trouble try_arena() {
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (arenas[i].state == arena_state::shared) return {};
  for (std::uint32_t i = 0; i < arena_count; ++i)
    if (arenas[i].state == arena_state::absent) return make_arena(i);
  return {wire::watch_obstacle::no_address_room, 0};
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
  ++arenas[slot / arena_slots].runs;
  links[slot].occupied = true;
  return slot;
}

std::uint32_t run_length(std::uint32_t slot) {
  return 1u << links[slot].order;
}

bool is_apart(std::uint32_t slot) {
  return arenas[slot / arena_slots].state == arena_state::apart;
}

void give_run(std::uint32_t slot) {
  const std::uint32_t index = slot / arena_slots;
  arena& from = arenas[index];
  char* const at = address_of(slot);
  if (!links[slot].occupied) return;  // freed twice, where nothing is booked
  links[slot].occupied = false;
  --from.runs;
  if (from.state == arena_state::shared) {
    // EINVAL: locked into memory
    if (sys::madvise(at, run_length(slot) * wire::watch_slot_bytes, MADV_REMOVE) == -22) {
      sys::call(__NR_munlock, sys::word(begin_of(index)), arena_bytes);
      sys::madvise(at, run_length(slot) * wire::watch_slot_bytes, MADV_REMOVE);
    }
    push(queues[links[slot].order], slot);
  } else if (from.runs == 0) {
    drop_arena(index);
  } else {
    sys::madvise(at, run_length(slot) * wire::watch_slot_bytes, MADV_DONTNEED);
  }
}

std::uint32_t slots_ever_used() {
  return high_slots;
}

void privatise_arenas() {
  for (std::uint32_t i = 0; i < arena_count; ++i) {
    arena& each = arenas[i];
    if (each.state != arena_state::shared || each.runs == 0) continue;
    constexpr int move_here = 1 | 2;  // MREMAP_MAYMOVE | MREMAP_FIXED
    each.parting = sys::call(__NR_mremap, sys::word(static_cast<char*>(each.private_view)), arena_bytes, arena_bytes,
                             move_here, sys::word(begin_of(i))) > 0;
  }
}

void part_from_child(void (*apart)(std::uint32_t slot)) {
  bool any = false;
  for (std::uint32_t i = 0; i < arena_count; ++i) {
    arena& each = arenas[i];
    if (!each.parting) continue;
    any = true;
    each.parting = false;
    each.state = arena_state::apart;
    each.private_view = nullptr;
    for (std::uint32_t at = 0; at < each.used; at += run_length(i * arena_slots + at)) apart(i * arena_slots + at);
  }
  if (!any) return;
  for (run_queue& queue : queues) filter(queue);
}

void keep_inherited() {
  for (std::uint32_t i = 0; i < arena_count; ++i) {
    arena& each = arenas[i];
    if (each.state == arena_state::absent) continue;
    if (each.parting || each.state == arena_state::apart) {
      each.parting = false;
      each.state = arena_state::apart;
      each.private_view = nullptr;
      continue;
    }
    // Not inherited: a hole, which must not become part of anything else.
    reserve(begin_of(i), arena_bytes, MAP_FIXED_NOREPLACE);
    if (each.private_view != nullptr) sys::munmap(each.private_view, arena_bytes);
    each = {};
  }
  for (run_queue& queue : queues) queue = {};
}

}  // namespace heapledger::probe

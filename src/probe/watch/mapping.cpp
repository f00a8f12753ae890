#include "probe/watch/mapping.hpp"

#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>

#include "probe/base/address_space.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/base/unlocked_map.hpp"

namespace heapledger::probe {
namespace {

constexpr long no_memory = -12, invalid = -22;

std::uint64_t limit_of(int resource) {
  struct {
    std::uint64_t soft, hard;
  } limit{};
  return sys::call(__NR_prlimit64, 0, resource, 0, sys::word(&limit)) == 0 ? limit.soft : ~std::uint64_t{0};
}

long map_at(std::uint64_t at, std::uint64_t bytes, int flags, int fd) {
  return sys::call(__NR_mmap, at, bytes, PROT_NONE, flags | MAP_NORESERVE, static_cast<std::uint64_t>(fd), 0);
}

long map_small_pages(std::uint64_t at, std::uint64_t bytes, int flags, int fd) {
  const long map = map_unlocked(at, bytes, flags, fd);
  if (!is_error(map)) sys::call(__NR_madvise, static_cast<std::uint64_t>(map), bytes, MADV_NOHUGEPAGE);
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

}  // namespace

std::uint64_t reserve_slots(std::uint64_t slots) {
  constexpr std::uint64_t step = wire::watch_slot_bytes;
  const std::uint64_t bytes = slots * step;
  hold(bytes + step, 0);
  const long map = map_at(0, bytes + step, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (is_error(map)) {
    let_go(bytes + step, 0);
    return 0;
  }
  const auto at = static_cast<std::uint64_t>(map);
  const std::uint64_t base = (at + step - 1) & ~(step - 1);
  if (base != at) sys::call(__NR_munmap, at, base - at);
  if (base != at + step) sys::call(__NR_munmap, base + bytes, at + step - base);
  let_go(step, 0);
  return base;
}

void reserve_again(char* at, std::uint64_t slots, reservation how) {
  const int fixed = how == reservation::over ? MAP_FIXED : MAP_FIXED_NOREPLACE;
  map_at(sys::word(at), slots * wire::watch_slot_bytes, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1);
}

// A program that limits its address space must find it as large as without us: we take a small part, twice.
std::uint64_t window_slot_limit() {
  return std::max(limit_of(RLIMIT_AS) / 32, address_space_to_spare() / 4) / wire::watch_slot_bytes;
}

std::uint64_t arena_slot_limit() {
  return limit_of(RLIMIT_FSIZE) / wire::watch_slot_bytes;  // beyond it the kernel kills
}

watch_trouble map_arena(char* at, std::uint64_t slots, char*& private_view) {
  const std::uint64_t bytes = slots * wire::watch_slot_bytes;
  const long fd = sys::call(__NR_memfd_create, sys::word("heapledger-watch"), 1 /* MFD_CLOEXEC */);
  if (fd < 0) return {wire::watch_obstacle::no_memfd, static_cast<int>(-fd)};
  const int file = static_cast<int>(fd);
  hold(bytes, bytes);
  long result = sys::ftruncate(file, bytes);
  long view = no_memory;
  if (result == 0) result = view = map_small_pages(0, bytes, MAP_PRIVATE, file);
  if (!is_error(result)) result = map_small_pages(sys::word(at), bytes, MAP_SHARED | MAP_FIXED, file);
  sys::close(file);
  watch_trouble trouble{};
  if (is_error(result))
    trouble = {wire::watch_obstacle::no_address_room, static_cast<int>(-result)};
  else if (const long kept_out = sys::madvise(at, bytes, MADV_DONTFORK); kept_out != 0)
    trouble = {wire::watch_obstacle::no_fork_handler, static_cast<int>(-kept_out)};
  else if (!arming_works(at))
    trouble = {wire::watch_obstacle::no_arming, 0};
  if (trouble.obstacle == wire::watch_obstacle::none) {
    private_view = reinterpret_cast<char*>(view);
  } else {
    if (!is_error(view)) sys::call(__NR_munmap, static_cast<std::uint64_t>(view), bytes);
    let_go(bytes, bytes);
    reserve_again(at, slots, reservation::over);
  }
  return trouble;
}

void unmap_view(char* private_view, std::uint64_t slots) {
  if (private_view == nullptr) return;
  sys::munmap(private_view, slots * wire::watch_slot_bytes);
  let_go(slots * wire::watch_slot_bytes, slots * wire::watch_slot_bytes);
}

bool move_view(char* private_view, char* over, std::uint64_t slots) {
  constexpr int may_move_to = 1 | 2;  // MREMAP_MAYMOVE | MREMAP_FIXED
  const std::uint64_t bytes = slots * wire::watch_slot_bytes;
  if (is_error(sys::call(__NR_mremap, sys::word(private_view), bytes, bytes, may_move_to, sys::word(over))))
    return false;
  let_go(bytes, 0);
  return true;
}

namespace {
constexpr std::uint64_t page = 4096, spare_count = 16;
constinit std::uint64_t spare = 0;
}  // namespace

void take_spare_mappings() {
  if (spare != 0) return;
  const long map = map_at(0, spare_count * page, MAP_PRIVATE | MAP_ANONYMOUS, -1);
  if (is_error(map)) return;
  spare = static_cast<std::uint64_t>(map);
  for (std::uint64_t i = 0; i < spare_count; i += 2)
    sys::call(__NR_mprotect, spare + i * page, page, PROT_READ);  // neighbours that differ do not become one
}

bool give_spare_mappings() {
  if (spare == 0) return false;
  sys::call(__NR_munmap, spare, spare_count * page);
  spare = 0;
  return true;
}

bool empty_slots(char* at, std::uint64_t slots) {
  const std::uint64_t bytes = slots * wire::watch_slot_bytes;
  long result = sys::madvise(at, bytes, MADV_REMOVE);
  if (result == invalid) {  // locked into memory
    sys::call(__NR_munlock, sys::word(at), bytes);
    result = sys::madvise(at, bytes, MADV_REMOVE);
  }
  return result == 0;
}

}  // namespace heapledger::probe

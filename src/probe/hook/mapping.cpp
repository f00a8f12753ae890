// The functions are passed on to whoever is behind us, and what they did is booked apart from malloc's totals. What the
// C library and the loader map does not come by here, and what an allocator maps is left out: it is for blocks that are
// booked. No header declares these functions here: ours have mremap's optional argument always, as registers do.
#include "probe/hook/mapping.hpp"

#include <errno.h>

#include <cstddef>
#include <cstdint>

#include "probe/base/syscalls.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/next.hpp"
#include "probe/mapping/ranges.hpp"
#include "probe/mapping/sites.hpp"

using namespace heapledger;
using namespace heapledger::probe;

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr int map_shared = 1, map_kinds = 15, map_anonymous = 32;
constexpr int remap_may_move = 1, remap_fixed = 2, remap_keeps_old = 4;

using map_function = void*(void*, std::size_t, int, int, int, long);
using unmap_function = int(void*, std::size_t);
using remap_function = void*(void*, std::size_t, std::size_t, int, void*);

long or_errno(long result) {
  if (result >= 0 || result < -4095) return result;
  errno = static_cast<int>(-result);
  return -1;
}
void* kernel_map(void* address, std::size_t bytes, int protection, int flags, int fd, long offset) {
  return reinterpret_cast<void*>(or_errno(
      sys::call(__NR_mmap, sys::word(address), bytes, static_cast<unsigned>(protection), static_cast<unsigned>(flags),
                static_cast<std::uint64_t>(fd), static_cast<std::uint64_t>(offset))));
}
int kernel_unmap(void* address, std::size_t bytes) {
  return static_cast<int>(or_errno(sys::call(__NR_munmap, sys::word(address), bytes)));
}
void* kernel_remap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, void* address) {
  return reinterpret_cast<void*>(or_errno(
      sys::call(__NR_mremap, sys::word(old), old_bytes, bytes, static_cast<unsigned>(flags), sys::word(address))));
}

constinit map_function* next_map = kernel_map;
constinit map_function* next_map64 = kernel_map;
constinit unmap_function* next_unmap = kernel_unmap;
constinit remap_function* next_remap = kernel_remap;

template <class Function>
void look_up(Function*& out, const char* name) {
  if (void* const found = next_definition(name); found != nullptr) out = reinterpret_cast<Function*>(found);
}

struct range {
  std::uint64_t start, end;
  range(const void* address, std::size_t bytes)
      : start(reinterpret_cast<std::uint64_t>(address)), end((start + bytes + page_bytes - 1) & ~(page_bytes - 1)) {}
};

bool failed(const void* mapped) {
  return reinterpret_cast<std::uintptr_t>(mapped) == ~std::uintptr_t{0};
}

wire::mapping_kind kind_of(int flags) {
  if ((flags & map_anonymous) == 0) return wire::mapping_kind::file;
  return (flags & map_kinds) == map_shared ? wire::mapping_kind::shared : wire::mapping_kind::anonymous;
}

// Of the stack at the call of the hook.
HL_COLD std::uint32_t site_of(const frame_state& caller, wire::mapping_kind kind) {
  const booking event(reinterpret_cast<const void*>(caller.rsp));
  if (!event) return 0;
  if (!state.stacks_off && !event->stack.same(caller)) {
    event->stack.walk(caller.pc, caller.rsp, caller.rbp);
    event->forget_recent();  // it belonged to the stack before
  }
  return book_mapping(*event, kind);
}

// A forked child's books begin with its first block, not here: a child that has none may be in a sandbox already, which
// ends it for opening a file (firefox's).
bool has_books() {
  return process.generation != 0 && keeps_books();
}
bool is_booked(const frame_state& caller) {
  return has_books() && !in_next_allocator(caller.pc);
}

void* map(map_function* function, void* wanted, std::size_t bytes, int protection, int flags, int fd, long offset,
          const frame_state& caller) {
  void* const mapped = function(wanted, bytes, protection, flags, fd, offset);
  if (failed(mapped) || !has_books()) return mapped;
  const std::uint32_t site = is_booked(caller) ? site_of(caller, kind_of(flags)) : 0;
  const range now(mapped, bytes);
  put_range(now.start, now.end, site);
  return mapped;
}

}  // namespace

HL_EXPORT void* mmap(void* address, std::size_t bytes, int protection, int flags, int fd, long offset) {
  return map(next_map, address, bytes, protection, flags, fd, offset, HL_CALLER());
}

HL_EXPORT void* mmap64(void* address, std::size_t bytes, int protection, int flags, int fd, long offset) {
  return map(next_map64, address, bytes, protection, flags, fd, offset, HL_CALLER());
}

HL_EXPORT int munmap(void* address, std::size_t bytes) {
  const range gone(address, bytes);
  const bool possible = has_books() && gone.start % page_bytes == 0;
  const taken_ranges taken = possible ? take_ranges(gone.start, gone.end) : taken_ranges{};
  const int result = next_unmap(address, bytes);
  result == 0 ? give_up(taken) : put_back(taken);
  return result;
}

HL_EXPORT void* mremap(void* old, std::size_t old_bytes, std::size_t bytes, int flags, void* wanted) {
  const frame_state caller = HL_CALLER();
  const range before(old, old_bytes);
  const bool keeps_old = old_bytes == 0 || (flags & remap_keeps_old) != 0;
  const bool possible = has_books() && !keeps_old && before.start % page_bytes == 0;
  const taken_ranges taken = possible ? take_ranges(before.start, before.end) : taken_ranges{};
  void* const mapped = next_remap(old, old_bytes, bytes, flags, wanted);
  if (failed(mapped)) {
    put_back(taken);
    return mapped;
  }
  const bool counts = is_booked(caller) && (taken.first != 0 || keeps_old);
  const std::uint32_t site = counts ? site_of(caller, keeps_old ? kind_at(before.start) : kind_of(taken)) : 0;
  give_up(taken);
  const range now(mapped, bytes);
  if (has_books()) put_range(now.start, now.end, site);
  return mapped;
}

namespace heapledger::probe {

void start_mapping() {
  look_up(next_map, "mmap");
  look_up(next_map64, "mmap64");
  look_up(next_unmap, "munmap");
  look_up(next_remap, "mremap");
}

void begin_mapping_books() {
  forget_ranges();
  forget_mapping_sites();
}

}  // namespace heapledger::probe

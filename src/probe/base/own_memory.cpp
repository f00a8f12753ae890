#include "probe/base/own_memory.hpp"

#include <linux/prctl.h>
#include <sys/mman.h>

#include "probe/base/address_space.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {
namespace {
constinit std::uint64_t mapped_bytes = 0;
constinit std::uint32_t pieces_lock = 0;
constinit char* piece_next = nullptr;
constinit std::size_t piece_left = 0;
constexpr std::size_t piece_map_bytes = 256 * 1024;
constexpr int prctl_set_vma = 0x53564d41;

std::uint64_t in_pages(std::size_t bytes) {
  constexpr std::uint64_t page = 4096;
  return (bytes + page - 1) & ~(page - 1);
}
}  // namespace

void* own_map(std::size_t bytes) {
  const std::uint64_t pages = in_pages(bytes);
  hold(pages, pages);
  void* map = sys::mmap(bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (map == nullptr) {
    let_go(pages, pages);
    return nullptr;
  }
  static constexpr char name[] = "heapledger";
  if (!calls_may_be_refused) {
    sys::call(__NR_prctl, prctl_set_vma, 0, sys::word(map), bytes, sys::word(name));
    sys::madvise(map, bytes, MADV_DONTDUMP);
  }
  __atomic_add_fetch(&mapped_bytes, bytes, __ATOMIC_RELAXED);
  return map;
}

void own_unmap(void* address, std::size_t bytes) {
  sys::munmap(address, bytes);
  let_go(in_pages(bytes), in_pages(bytes));
  __atomic_sub_fetch(&mapped_bytes, bytes, __ATOMIC_RELAXED);
}

void* own_piece(std::size_t bytes) {
  bytes = (bytes + 63) & ~std::size_t{63};
  const inner_lock_guard held(pieces_lock);
  if (bytes > piece_left) {
    const std::size_t map_bytes = bytes > piece_map_bytes ? (bytes + 4095) & ~std::size_t{4095} : piece_map_bytes;
    void* map = own_map(map_bytes);
    if (map == nullptr) return nullptr;
    piece_next = static_cast<char*>(map);
    piece_left = map_bytes;
  }
  void* piece = piece_next;
  piece_next += bytes;
  piece_left -= bytes;
  return piece;
}

void reset_own_pieces() {
  pieces_lock = 0;
  piece_left = 0;
}

std::uint64_t own_bytes() {
  return __atomic_load_n(&mapped_bytes, __ATOMIC_RELAXED);
}

}  // namespace heapledger::probe

// The hooks of jemalloc's own interface, for the blocks that it shares with malloc's: any of them may be freed or
// resized by a function of the other. jemalloc(3) says what each does.
#include <cstring>

#include "probe/hook/aligned.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/program_size.hpp"
#include "probe/hook/resize.hpp"

using namespace heapledger::probe;

namespace {

constexpr auto plain = block_kind::from_malloc;
constexpr int zero_flag = 0x40;

// Which arena and which cache it comes from is between the program and jemalloc.
std::size_t alignment_of(int flags) {
  return std::size_t{1} << (flags & 0x3f);
}

// Where the allocator is another one, a program that found our definition gets what it asked for all the same.
void* from_another(std::size_t bytes, int flags) {
  const std::size_t alignment = alignment_of(flags);
  if (alignment <= alignof(std::max_align_t)) {
    return (flags & zero_flag) != 0 ? next.calloc(1, with_tag(bytes)) : next.malloc(with_tag(bytes));
  }
  void* const block = next.memalign(alignment, with_tag(bytes));
  return block != nullptr && (flags & zero_flag) != 0 ? std::memset(block, 0, bytes) : block;
}

void* allocate(std::size_t bytes, int flags, const frame_state& caller) {
  const aligned_event event(alignment_of(flags));
  void* const block = next.mallocx != nullptr ? next.mallocx(with_tag(bytes), flags) : from_another(bytes, flags);
  return block != nullptr ? book_block<plain>(event.block(block, bytes), bytes, caller) : nullptr;
}

// Where more is asked for than realloc can give.
HL_COLD void* move(void* block, std::size_t bytes, int flags, const frame_state& caller) {
  void* const moved = allocate(bytes, flags, caller);
  if (moved == nullptr) return nullptr;
  const std::size_t before = program_size(block);
  std::memcpy(moved, block, before < bytes ? before : bytes);
  free_block<plain>(block);
  return moved;
}

}  // namespace

HL_EXPORT void* mallocx(std::size_t bytes, int flags) {
  return allocate(bytes, flags, HL_CALLER());
}

HL_EXPORT void* rallocx(void* block, std::size_t bytes, int flags) {
  if ((flags & ~zero_flag) != 0) return move(block, bytes, flags, HL_CALLER());
  const std::size_t before = flags != 0 ? program_size(block) : 0;
  void* const moved = resize(block, bytes, HL_CALLER());
  if (flags == 0 || moved == nullptr) return moved;
  const std::size_t now = program_size(moved);
  if (now > before) std::memset(static_cast<char*>(moved) + before, 0, now - before);
  return moved;
}

HL_EXPORT void dallocx(void* block, int) {
  if (block != nullptr) free_block<plain>(block);
}

// The size may be smaller than what we asked for.
HL_EXPORT void sdallocx(void* block, std::size_t, int) {
  if (block != nullptr) free_block<plain>(block);
}

HL_EXPORT std::size_t xallocx(void* block, std::size_t, std::size_t, int) {
  return program_size(block);  // it may always say that the block stays as it is, and so does its tag
}

// What the program may use of a block that it has not asked for yet, and not the tag that it will have.
HL_EXPORT std::size_t nallocx(std::size_t bytes, int flags) {
  if (next.nallocx == nullptr) return bytes;
  const std::size_t usable = next.nallocx(with_tag(bytes), flags);
  return takes_tag(usable, bytes) ? usable - state.trailer_bytes : usable;
}

HL_EXPORT std::size_t sallocx(const void* block, int) {
  return program_size(const_cast<void*>(block));
}

// The hooks of the C allocation functions.
#include <cerrno>
#include <cstring>

#include "probe/hook/aligned.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/own_copies.hpp"
#include "probe/hook/program_size.hpp"
#include "probe/hook/resize.hpp"

using namespace heapledger::probe;

namespace {

constexpr auto plain = block_kind::from_malloc;
constexpr std::size_t page_bytes = 4096;

HL_HOT void* booked(void* block, std::size_t bytes, const frame_state& caller) {
  return HL_LIKELY(block != nullptr) ? book_block<plain>(block, bytes, caller) : nullptr;
}

// mimalloc's take nullptr, which the header says that nobody gives.
bool is_text(const char* text) {
  asm("" : "+r"(text));
  return text != nullptr;
}

char* copied(const char* text, std::size_t length, const frame_state& caller) {
  auto* const copy = static_cast<char*>(booked(next.malloc(with_tag(length + 1)), length + 1, caller));
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

HL_COLD void release_from_loader(void* block) {
  free_block<plain>(block);
  loader_freed();
}

}  // namespace

HL_EXPORT void* malloc(std::size_t bytes) {
  void* const block = allocate_tagged(next.malloc, bytes);
  return booked(block, bytes, HL_CALLER());  // read only now: nothing need be kept over the call
}

HL_EXPORT void free(void* block) {
  if (HL_UNLIKELY(block == nullptr)) return;
  if (HL_UNLIKELY(in_loader(__builtin_return_address(0)))) return release_from_loader(block);
  free_block<plain>(block);
}

HL_EXPORT void* calloc(std::size_t count, std::size_t each) {
  std::size_t bytes;
  if (HL_UNLIKELY(__builtin_mul_overflow(count, each, &bytes))) return next.calloc(count, each);
  void* const block = next.calloc(1, with_tag(bytes));
  return booked(block, bytes, HL_CALLER());
}

HL_EXPORT void* realloc(void* block, std::size_t bytes) {
  if (HL_UNLIKELY(block == nullptr)) return booked(next.malloc(with_tag(bytes)), bytes, HL_CALLER());
  return resize(block, bytes, HL_CALLER());
}

HL_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t each) {
  std::size_t bytes;
  if (HL_UNLIKELY(__builtin_mul_overflow(count, each, &bytes))) {
    errno = ENOMEM;
    return nullptr;
  }
  if (block == nullptr) return booked(next.malloc(with_tag(bytes)), bytes, HL_CALLER());
  return resize(block, bytes, HL_CALLER());
}

HL_EXPORT int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  const aligned_event event(alignment);
  void* block;
  const int result = next.posix_memalign(&block, alignment, with_tag(bytes));
  if (HL_UNLIKELY(result != 0)) return result;
  void* const given = booked(event.block(block, bytes), bytes, HL_CALLER());
  if (HL_UNLIKELY(given == nullptr)) return ENOMEM;
  *out = given;
  return 0;
}

HL_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  const aligned_event event(alignment);
  void* const block = next.aligned_alloc(alignment, with_tag(bytes));
  return booked(event.block(block, bytes), bytes, HL_CALLER());
}

HL_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  const aligned_event event(alignment);
  void* const block = next.memalign(alignment, with_tag(bytes));
  return booked(event.block(block, bytes), bytes, HL_CALLER());
}

HL_EXPORT void* valloc(std::size_t bytes) {
  const aligned_event event(page_bytes);
  void* const block = next.memalign(page_bytes, with_tag(bytes));
  return booked(event.block(block, bytes), bytes, HL_CALLER());
}

// A whole number of pages is usable, and the tag comes after them.
HL_EXPORT void* pvalloc(std::size_t bytes) {
  std::size_t rounded;
  if (__builtin_add_overflow(bytes, page_bytes - 1, &rounded)) {
    errno = ENOMEM;
    return nullptr;
  }
  rounded &= ~(page_bytes - 1);
  const aligned_event event(page_bytes);
  void* const block = next.memalign(page_bytes, with_tag(rounded));
  return booked(event.block(block, rounded), bytes, HL_CALLER());
}

HL_EXPORT std::size_t malloc_usable_size(void* block) {
  return program_size(block);
}

HL_EXPORT void free_sized(void* block, std::size_t) {
  if (block != nullptr) free_block<plain>(block);
}
HL_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) {
  if (block != nullptr) free_block<plain>(block);
}
HL_EXPORT void cfree(void* block) {
  if (block != nullptr) free_block<plain>(block);
}

HL_EXPORT char* strdup(const char* text) {
  const text_copiers& behind = copiers_behind();
  if (HL_LIKELY(!behind.of_allocator)) return behind.strdup(text);
  return is_text(text) ? copied(text, std::strlen(text), HL_CALLER()) : nullptr;
}
HL_EXPORT char* strndup(const char* text, std::size_t most) {
  const text_copiers& behind = copiers_behind();
  if (HL_LIKELY(!behind.of_allocator)) return behind.strndup(text, most);
  return is_text(text) ? copied(text, strnlen(text, most), HL_CALLER()) : nullptr;
}

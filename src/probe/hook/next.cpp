#include "probe/hook/next.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <cstdint>

#include "probe/base/attributes.hpp"
#include "probe/hook/block.hpp"
#include "probe/hook/late.hpp"
#include "probe/hook/operators.hpp"
#include "probe/hook/process.hpp"
#include "probe/loader/nearest.hpp"

namespace heapledger::probe {

namespace {

// Until begin() has run, each name first has it run. While it runs, dlsym itself may allocate.
void* first_malloc(std::size_t bytes) {
  begin();
  return beginning() ? bootstrap_allocate(bytes, 16) : next.malloc(bytes);
}
void* first_calloc(std::size_t count, std::size_t each) {
  begin();
  return beginning() ? bootstrap_allocate(count * each, 16) : next.calloc(count, each);
}
void first_free(void* block) {
  begin();
  if (!beginning()) next.free(block);
}
std::size_t first_usable_size(void* block) {
  begin();
  return beginning() ? 0 : next.usable_size(block);
}
void* first_realloc(void* block, std::size_t bytes) {
  begin();
  return next.realloc(block, bytes);
}
void* first_memalign(std::size_t alignment, std::size_t bytes) {
  begin();
  return beginning() ? bootstrap_allocate(bytes, alignment) : next.memalign(alignment, bytes);
}
int first_posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  begin();
  return next.posix_memalign(out, alignment, bytes);
}
void* no_operator_new(std::size_t) {
  return nullptr;
}

}  // namespace

constinit next_allocator next{first_malloc,    first_free,           first_calloc,      first_realloc, first_memalign,
                              first_memalign,  first_posix_memalign, first_usable_size, false,         false,
                              no_operator_new, UINTPTR_MAX,          nullptr,           nullptr};

namespace {

constexpr std::size_t bootstrap_bytes = 64 * 1024;
alignas(4096) constinit char bootstrap_memory[bootstrap_bytes] = {};
constinit std::size_t bootstrap_used = 0;

constinit decltype(next_allocator::usable_size) sizes_behind = nullptr;

// Under valgrind it is not glibc's whatever its address says, and reading in front of a block is an error to report.
bool may_be_glibc(const next_allocator& with) {
  return is_of_libc(reinterpret_cast<const void*>(with.malloc)) &&
         (is_late() || defined_from(program_map(), "_vgnU_freeres") == nullptr);
}

// glibc keeps a chunk's size in the word in front of the block. Believed only after it agreed with malloc_usable_size
// for blocks of every kind of bin: one block that grows at the top of the heap, and gives it all back, so that nothing
// of it is at hand afterwards. It never is a mapping of its own: when such a block is freed, glibc makes no more
// mappings for others of its size.
bool chunk_sizes_agree(const next_allocator& with) {
  constexpr std::size_t sizes[] = {0, 1, 24, 25, 100, 1032, 1033, 5000, 40'000};
  void* block = nullptr;
  bool agree = true;
  for (const std::size_t bytes : sizes) {
    void* const grown = block == nullptr ? with.malloc(bytes) : with.realloc(block, bytes);
    agree = agree && grown != nullptr;
    if (!agree) break;
    block = grown;
    const std::size_t chunk = static_cast<const std::size_t*>(block)[-1];
    agree = is_mapping(chunk) || glibc_usable_size(chunk) == sizes_behind(block);
  }
  if (block != nullptr) with.free(block);
  return agree;
}

// Not before a block is asked about: until then a program without any has no heap, as without us, and what it finds in
// mallinfo() is its own. haproxy looks there whether malloc(1) changes anything, which it does not from a block at
// hand.
std::size_t first_size(void* block) {
  next.usable_size = sizes_behind;
  next.glibc = chunk_sizes_agree(next);
  choose_paths();
  return sizes_behind(block);
}

// An allocator without malloc_usable_size: libc's would read what is in front of a block as glibc's own.
std::size_t no_size(void*) {
  return 0;
}

// tcmalloc allocates when it is first asked, which would have us ask again: so now, while nothing is booked.
void settle_usable_size(const next_allocator& with) {
  void* const block = with.malloc(1);
  with.usable_size(block);
  with.free(block);
}

// Deletes first: who finds them so has a block that may be deleted.
void take_operators_over(next_allocator& with) {
  __atomic_store_n(&with.deletes_from, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&with.cxx_direct, true, __ATOMIC_RELEASE);
  __atomic_store_n(&with.operator_new, with.malloc, __ATOMIC_RELEASE);
}

constinit bool operators_may_come = false;
constinit bool operators_are_replaced = false;  // by what is there from the start, and stays

constinit std::uint64_t allocator_start = 0;
constinit std::uint64_t allocator_bytes = 0;

// Not where the program itself has the allocator in it, which is all of the program.
void find_allocator_code() {
  dl_find_object object;
  const bool is_library =
      _dl_find_object(reinterpret_cast<void*>(next.malloc), &object) == 0 && object.dlfo_link_map->l_name[0] != 0;
  if (!is_library || is_of_libc(reinterpret_cast<void*>(next.malloc))) return;
  allocator_start = reinterpret_cast<std::uint64_t>(object.dlfo_map_start);
  allocator_bytes = reinterpret_cast<std::uint64_t>(object.dlfo_map_end) - allocator_start;
}

}  // namespace

bool find_next_allocator() {
  next_allocator found = next;
  look_up_next(found.malloc, "malloc");
  look_up_next(found.free, "free");
  look_up_next(found.calloc, "calloc");
  look_up_next(found.realloc, "realloc");
  look_up_next(found.memalign, "memalign");
  look_up_next(found.aligned_alloc, "aligned_alloc");
  look_up_next(found.posix_memalign, "posix_memalign");
  look_up_next(found.usable_size, "malloc_usable_size");
  found.mallocx = reinterpret_cast<decltype(found.mallocx)>(next_definition_if_any("mallocx"));
  // A block of it may come to `free`.
  if (!in_one_object(reinterpret_cast<void*>(found.mallocx), reinterpret_cast<void*>(found.malloc)))
    found.mallocx = nullptr;
  if (found.mallocx != nullptr)
    found.nallocx = reinterpret_cast<decltype(found.nallocx)>(next_definition_if_any("nallocx"));
  if (found.malloc == nullptr || found.free == nullptr || found.calloc == nullptr || found.realloc == nullptr ||
      found.memalign == nullptr || found.aligned_alloc == nullptr || found.posix_memalign == nullptr ||
      found.usable_size == nullptr)
    return false;
  const auto operators = find_operators(reinterpret_cast<const void*>(found.malloc));
  if (operators == operators_behind::of_library) take_operators_over(found);
  operators_may_come = operators == operators_behind::none;
  operators_are_replaced = operators == operators_behind::replaced && !is_late();
  if (!in_one_object(reinterpret_cast<void*>(found.usable_size), reinterpret_cast<void*>(found.malloc))) {
    found.usable_size = no_size;
  } else if (may_be_glibc(found)) {
    sizes_behind = found.usable_size;
    found.usable_size = first_size;
  } else {
    settle_usable_size(found);
  }
  next = found;
  find_allocator_code();
  return true;
}

HL_COLD bool take_operators_over_for(const void* caller) {
  if (!__atomic_load_n(&operators_may_come, __ATOMIC_RELAXED)) return false;
  const auto operators = find_operators_of(caller, reinterpret_cast<const void*>(next.malloc));
  const bool is_library = operators == operators_behind::of_library;
  if (is_library) take_operators_over(next);
  __atomic_store_n(&operators_may_come, false, __ATOMIC_RELAXED);
  return is_library;
}

bool operators_stay() {
  return operators_are_replaced;
}

bool in_next_allocator(std::uint64_t address) {
  return address - allocator_start < allocator_bytes;
}

void* next_definition(const char* name) {
  return is_late() ? late_next(name) : dlsym(RTLD_NEXT, name);
}

void* next_definition_if_any(const char* name) {
  if (is_late()) return late_next(name);
  const link_map* const own = own_map();
  return own != nullptr ? defined_from(own->l_next, name) : nullptr;
}

bool in_one_object(const void* a, const void* b) {
  dl_find_object first, second;
  return _dl_find_object(const_cast<void*>(a), &first) == 0 && _dl_find_object(const_cast<void*>(b), &second) == 0 &&
         first.dlfo_map_start == second.dlfo_map_start;
}

bool is_of_libc(const void* function) {
  return in_one_object(function, reinterpret_cast<const void*>(gnu_get_libc_version));
}

void* definition_near(const void* code, const char* name) {
  dl_find_object object;
  const bool in_module = _dl_find_object(const_cast<void*>(code), &object) == 0;
  return nearest_definition(in_module ? object.dlfo_link_map : nullptr, name);
}

void* next_symbol(const char* name, const void* caller) {
  void* const next = is_late() ? their_definition(name) : dlsym(RTLD_NEXT, name);
  if (next != nullptr) return next;
  // A C program whose plugin brought a C++ library in: it is not in the global scope.
  return definition_near(caller, name);
}

// Each block has its size in front, and a zero where glibc keeps a chunk's: it never looks like one of ours.
void* bootstrap_allocate(std::size_t bytes, std::size_t alignment) {
  if (alignment < 16) alignment = 16;
  const std::size_t start = (bootstrap_used + 16 + alignment - 1) & ~(alignment - 1);
  if (bytes > bootstrap_bytes || start + bytes > bootstrap_bytes) return nullptr;
  bootstrap_used = start + bytes;
  char* block = bootstrap_memory + start;
  reinterpret_cast<std::size_t*>(block)[-2] = bytes;
  return block;
}

bool is_bootstrap(const void* block) {
  return static_cast<std::size_t>(static_cast<const char*>(block) - bootstrap_memory) < bootstrap_bytes;
}

std::size_t bootstrap_size(const void* block) {
  return static_cast<const std::size_t*>(block)[-2];
}

}  // namespace heapledger::probe

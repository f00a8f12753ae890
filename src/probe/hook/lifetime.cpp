#include "probe/hook/lifetime.hpp"

#include <elf.h>
#include <sys/auxv.h>

#include <cstring>
#include <ctime>

#include "probe/base/lock.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/misuse.hpp"

namespace heapledger::probe {
namespace {

using clock_function = int (*)(int, timespec*);

int clock_by_system_call(int clock, timespec* out) {
  return static_cast<int>(sys::call(__NR_clock_gettime, clock, sys::word(out)));
}

constinit clock_function read_clock = clock_by_system_call;
constinit std::uint32_t room_lock = 0;

// In the vDSO's image the table of symbols ends where that of their names begins.
clock_function find_in_vdso(const char* wanted) {
  const std::uint64_t base = getauxval(AT_SYSINFO_EHDR);
  if (base == 0) return nullptr;
  const auto* file = reinterpret_cast<const Elf64_Ehdr*>(base);
  const auto* headers = reinterpret_cast<const Elf64_Phdr*>(base + file->e_phoff);
  std::uint64_t bias = 0;
  const Elf64_Dyn* dynamic = nullptr;
  for (unsigned i = 0; i < file->e_phnum; ++i) {
    if (headers[i].p_type == PT_LOAD) bias = base + headers[i].p_offset - headers[i].p_vaddr;
    if (headers[i].p_type == PT_DYNAMIC) dynamic = reinterpret_cast<const Elf64_Dyn*>(base + headers[i].p_offset);
  }
  const Elf64_Sym* symbols = nullptr;
  const char* names = nullptr;
  for (; dynamic != nullptr && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const Elf64_Sym*>(bias + dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(bias + dynamic->d_un.d_ptr);
  }
  if (symbols == nullptr || names == nullptr) return nullptr;
  for (; reinterpret_cast<const char*>(symbols + 1) <= names; ++symbols)
    if (symbols->st_shndx != SHN_UNDEF && std::strcmp(names + symbols->st_name, wanted) == 0)
      return reinterpret_cast<clock_function>(bias + symbols->st_value);
  return nullptr;
}

constexpr auto first_candidates = [] {
  std::array<std::uint8_t, 65> first{};  // by bit width: the bucket of the smallest number of that width
  for (std::size_t width = 1; width < first.size(); ++width)
    while (first[width] + 1u < wire::lifetime_buckets &&
           wire::lifetime_edges_ns[first[width] + 1u] <= std::uint64_t{1} << (width - 1))
      ++first[width];
  return first;
}();

// Between a power of two and the next lies one edge at most.
std::size_t bucket_of(std::uint64_t lived_ns) {
  const std::size_t first = first_candidates[lived_ns == 0 ? 0 : 64 - __builtin_clzl(lived_ns)];
  return first + (first + 1 < wire::lifetime_buckets && lived_ns >= wire::lifetime_edges_ns[first + 1]);
}

template <class T>
bool has_room(table<T>& room, std::uint32_t count) {
  if (HL_LIKELY(is_committed(room, count))) return true;
  const lock_guard held(room_lock);
  return commit(room, count);
}

void add(std::uint64_t& word, std::uint64_t by) {
  __atomic_fetch_add(&word, by, __ATOMIC_RELAXED);
}
void add_wide(std::uint64_t (&sum)[2], std::uint64_t by) {
  if (__builtin_add_overflow(__atomic_fetch_add(&sum[0], by, __ATOMIC_RELAXED), by, &by)) add(sum[1], 1);
}
void subtract_wide(std::uint64_t (&sum)[2], std::uint64_t by) {
  if (__builtin_sub_overflow(__atomic_fetch_sub(&sum[0], by, __ATOMIC_RELAXED), by, &by))
    add(sum[1], ~std::uint64_t{0});
}

void count_end(books& own, std::uint32_t account, std::uint64_t born_ns, std::uint64_t lived_ns, std::size_t bytes) {
  if (!has_room(segment.account_lifetimes, account + 1) || !has_room(segment.writer_lifetimes, own.writer_id))
    return lose_life(own);
  own.last_life = {true, born_ns, lived_ns};
  add_pair(segment.writer_lifetimes[own.writer_id - 1].buckets[bucket_of(lived_ns)].frees, bytes);
  wire::account_lifetimes& sums = segment.account_lifetimes[account];
  add(sums.ends, 1);
  add_wide(sums.lived_ns, lived_ns);
  subtract_wide(sums.born_ns, born_ns);
}

std::uint64_t& birth_before_tag(void* block, std::size_t usable) {
  return tag_word(static_cast<char*>(block) - birth_word::bytes, usable);
}

}  // namespace

void choose_lifetimes(bool on) {
  state.lifetimes = on;
  state.trailer_bytes = on ? tag_bytes + birth_word::bytes : tag_bytes;
  if (!on) return;
  if (const clock_function found = find_in_vdso("__vdso_clock_gettime"); found != nullptr) read_clock = found;
}

void reset_lifetimes() {
  room_lock = 0;
}

std::uint64_t life_clock_ns() {
  timespec now{};
  read_clock(sys::clock_monotonic, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec) -
         segment.header->start_monotonic_ns;
}

std::uint64_t begin_life(std::uint32_t account) {
  const std::uint64_t born_ns = life_clock_ns();
  if (!has_room(segment.account_lifetimes, account + 1)) return born_ns;
  wire::account_lifetimes& sums = segment.account_lifetimes[account];
  add(sums.births, 1);
  add_wide(sums.born_ns, born_ns);
  return born_ns;
}

void note_birth(void* block, std::size_t usable, std::uint64_t born_ns) {
  if (HL_UNLIKELY(usable < state.trailer_bytes)) return;  // realloc to 0 bytes, of an allocator that gives fewer
  birth_before_tag(block, usable) = birth_word::make(block, state.tag_key, born_ns);
}

void end_life(books& own, std::uint32_t account, void* block, std::size_t usable, std::size_t bytes) {
  const std::uint64_t now_ns = life_clock_ns();
  if (HL_UNLIKELY(usable < state.trailer_bytes)) return lose_life(own);
  const birth_word birth(birth_before_tag(block, usable), block, state.tag_key);
  if (HL_UNLIKELY(!birth.whole())) {
    report_misuse(own, wire::error_kind::overflow, account);
    return lose_life(own);
  }
  const std::uint64_t lived_ns = birth.lived_ns(now_ns);
  count_end(own, account, now_ns - lived_ns, lived_ns, bytes);
}

void end_large_life(books& own, const large_block& block) {
  const std::uint64_t now_ns = life_clock_ns();
  count_end(own, block.account, block.born_ns, now_ns - block.born_ns, block.bytes);
}

HL_COLD void lose_life(books& own) {
  own.last_life.known = false;
  count_loss(wire::loss::lives_unknown);
}

HL_COLD void take_back_life(books& own, std::uint32_t account, std::size_t bytes) {
  const auto [known, born_ns, lived_ns] = own.last_life;
  if (!known) return;
  take_back_pair(segment.writer_lifetimes[own.writer_id - 1].buckets[bucket_of(lived_ns)].frees, bytes);
  wire::account_lifetimes& sums = segment.account_lifetimes[account];
  add(sums.ends, ~std::uint64_t{0});
  subtract_wide(sums.lived_ns, lived_ns);
  add_wide(sums.born_ns, born_ns);
}

}  // namespace heapledger::probe

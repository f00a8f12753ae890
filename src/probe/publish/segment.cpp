#include "probe/publish/segment.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <initializer_list>

#include "probe/base/access.hpp"
#include "probe/base/address_space.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/base/unlocked_map.hpp"

namespace heapledger::probe {

constinit segment_view segment;
constinit left_segment former_segment = {nullptr, 0};

namespace {

constexpr std::size_t page = 4096;
constinit std::uint32_t strings_lock = 0;
constexpr int advice_populate_write = 23;  // MADV_POPULATE_WRITE, Linux 5.14

struct capacities {
  std::uint64_t nodes = 1u << 24, places = 1u << 20, accounts = 1u << 22, cells = 1u << 21, threads = 1u << 16,
                writers = 1u << 15, modules = 1u << 14, strings = 1u << 24, errors = 1u << 12, scopes = 1u << 12,
                markers = 1u << 12, snapshots = 1u << 27, pool_kinds = 1u << 9, pools = 1u << 13, pool_sites = 1u << 17,
                watch_suspects = wire::watch_suspect_capacity, watch_slots = wire::watch_slot_capacity,
                watch_arms = wire::watch_arm_capacity, freers = 1u << 13, mapping_sites = 1u << 15, mappings = 1u << 17;

  // False: there is nothing left to halve.
  bool halve() {
    bool smaller = false;
    for (std::uint64_t* count :
         {&nodes, &places, &accounts, &cells, &threads, &writers, &strings, &markers, &snapshots, &pools, &pool_sites,
          &watch_suspects, &watch_slots, &watch_arms, &mapping_sites, &mappings})
      if (*count > 1024) {
        *count /= 2;
        smaller = true;
      }
    return smaller;
  }
};

std::uint64_t place(wire::region& region, std::uint64_t at, std::uint64_t count, std::size_t element) {
  region = {at, count};
  return (at + count * element + page - 1) & ~std::uint64_t{page - 1};
}

std::uint64_t lay_out(wire::segment_header& header, const capacities& wanted, bool lifetimes) {
  std::uint64_t at = wire::header_bytes;
  at = place(header.threads, at, wanted.threads, sizeof(wire::thread));
  at = place(header.writers, at, wanted.writers, sizeof(wire::writer));
  at = place(header.errors, at, wanted.errors, sizeof(wire::error));
  at = place(header.scopes, at, wanted.scopes, sizeof(wire::scope));
  at = place(header.markers, at, wanted.markers, sizeof(wire::marker));
  at = place(header.pool_kinds, at, wanted.pool_kinds, sizeof(wire::pool_kind));
  at = place(header.pools, at, wanted.pools, sizeof(wire::pool));
  at = place(header.pool_sites, at, wanted.pool_sites, sizeof(wire::pool_site));
  at = place(header.freers, at, wanted.freers, sizeof(wire::freer));
  at = place(header.writer_books, at, wanted.writers, sizeof(wire::writer_book));
  at = place(header.modules, at, wanted.modules, sizeof(wire::module));
  at = place(header.strings, at, wanted.strings, 1);
  at = place(header.accounts, at, wanted.accounts, sizeof(wire::cell));
  at = place(header.account_keys, at, wanted.accounts, sizeof(wire::account_key));
  at = place(header.cells, at, wanted.cells, sizeof(wire::cell));
  at = place(header.mapping_sites, at, wanted.mapping_sites, sizeof(wire::mapping_site));
  at = place(header.mappings, at, wanted.mappings, sizeof(wire::mapping));
  at = place(header.watch_marks, at, wanted.accounts, sizeof(std::uint32_t));
  at = place(header.watch_suspects, at, wanted.watch_suspects, sizeof(wire::watch_suspect));
  at = place(header.watch_slots, at, wanted.watch_slots, sizeof(wire::watch_slot));
  at = place(header.watch_arms, at, wanted.watch_arms, sizeof(wire::watch_arm));
  at = place(header.places, at, wanted.places, sizeof(wire::place));
  at = place(header.nodes, at, wanted.nodes, sizeof(wire::node));
  at = place(header.writer_lifetimes, at, lifetimes ? wanted.writers : 0, sizeof(wire::writer_lifetimes));
  at = place(header.account_lifetimes, at, lifetimes ? wanted.accounts : 0, sizeof(wire::account_lifetimes));
  return place(header.snapshots, at, wanted.snapshots, 1);
}

// A program that limits its address space or its files must find them as large as without us: we take a small part.
// None where our own tables, which are data, would be much of what it may have.
std::uint64_t budget_bytes(limit_met& least) {
  constexpr std::uint64_t least_data = 4 << 20;
  std::uint64_t budget = std::uint64_t{4} << 30;
  const auto heed = [&](int resource, limit_met met, auto part_of) {
    limit now{};
    if (sys::call(__NR_prlimit64, 0, resource, 0, sys::word(&now)) != 0 || now.soft == ~std::uint64_t{0}) return;
    const std::uint64_t part = part_of(now.soft);
    if (part >= budget) return;
    budget = part;
    least = met;
  };
  heed(RLIMIT_AS, limit_met::address_space, [](auto soft) { return std::max(soft / 16, address_space_to_spare()); });
  heed(RLIMIT_DATA, limit_met::data, [&](auto soft) { return soft < least_data ? 0 : budget; });
  heed(RLIMIT_FSIZE, limit_met::file_size, [](auto soft) { return soft; });
  return budget;
}

int open_segment_file(const char* path) {
  constexpr unsigned mode = 0600;
  if (path != nullptr) {
    const int fd = sys::open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (fd >= 0 && !calls_may_be_refused) sys::call(__NR_fchmod, fd, mode);  // the umask may leave less to who reads it
    return fd;
  }
  return static_cast<int>(sys::call(__NR_memfd_create, sys::word("heapledger"), 1 /* MFD_CLOEXEC */));
}
void remove_segment_file(const char* path) {
  if (path != nullptr) sys::unlink(path);
}

template <class T>
void view(table<T>& out, char* base, const wire::region& region) {
  out = {reinterpret_cast<T*>(base + region.offset), static_cast<std::uint32_t>(region.capacity), 0};
}

template <class F>
void each_table(const wire::segment_header& header, F f) {
  f(segment.nodes, header.nodes);
  f(segment.places, header.places);
  f(segment.accounts, header.accounts);
  f(segment.account_keys, header.account_keys);
  f(segment.cells, header.cells);
  f(segment.threads, header.threads);
  f(segment.writers, header.writers);
  f(segment.modules, header.modules);
  f(segment.strings, header.strings);
  f(segment.errors, header.errors);
  f(segment.scopes, header.scopes);
  f(segment.markers, header.markers);
  f(segment.snapshots, header.snapshots);
  f(segment.pool_kinds, header.pool_kinds);
  f(segment.pools, header.pools);
  f(segment.pool_sites, header.pool_sites);
  f(segment.watch_marks, header.watch_marks);
  f(segment.watch_suspects, header.watch_suspects);
  f(segment.watch_slots, header.watch_slots);
  f(segment.watch_arms, header.watch_arms);
  f(segment.freers, header.freers);
  f(segment.writer_books, header.writer_books);
  f(segment.writer_lifetimes, header.writer_lifetimes);
  f(segment.account_lifetimes, header.account_lifetimes);
  f(segment.mapping_sites, header.mapping_sites);
  f(segment.mappings, header.mappings);
}

// In a sandbox that knows which advice allocators give (Firefox's), page by page.
long populate(char* first, std::size_t bytes) {
  if (!calls_may_be_refused) return sys::madvise(first, bytes, advice_populate_write);
  for (std::size_t at = 0; at < bytes; at += page)
    if (!is_writable(first + at)) return -14;  // EFAULT
  return 0;
}

}  // namespace

// Where there is no room, there may be some later: the tool clears away what ended. But who asks each time is slower
// for it: a compiler in 20 MiB took 2.3 s of the kernel's time, and 0.5 s where there was room.
bool commit_bytes(void* start, std::size_t from, std::size_t to) {
  static constinit std::size_t refused_bytes = ~std::size_t{0};  // as little as that
  static constinit std::uint32_t refusals = 0;
  constexpr std::uint32_t asked_each = 256;
  from &= ~(page - 1);  // elements that no page is a multiple of
  if (to - from >= __atomic_load_n(&refused_bytes, __ATOMIC_RELAXED) &&
      __atomic_add_fetch(&refusals, 1, __ATOMIC_RELAXED) % asked_each != 0) {
    count_loss(wire::loss::segment_full);
    return false;
  }
  char* first = static_cast<char*>(start) + from;
  const long result = populate(first, to - from);
  const bool old_kernel = result == -22;  // EINVAL: the page comes with the first store
  const bool has_room = result == 0 || old_kernel;
  if (!has_room || to - from >= __atomic_load_n(&refused_bytes, __ATOMIC_RELAXED))
    __atomic_store_n(&refused_bytes, has_room ? ~std::size_t{0} : to - from, __ATOMIC_RELAXED);
  if (!has_room) count_loss(wire::loss::segment_full);
  return has_room;
}

std::uint32_t publish_string(const char* text, std::size_t bytes) {
  lock_guard held(strings_lock);
  wire::segment_header& header = *segment.header;
  const std::uint32_t at = header.string_bytes;
  if (at + bytes + 1 > segment.strings.capacity || !commit(segment.strings, static_cast<std::uint32_t>(at + bytes + 1)))
    return 0;
  __builtin_memcpy(&segment.strings[at], text, bytes);
  segment.strings[at + bytes] = 0;
  header.string_bytes = static_cast<std::uint32_t>(at + bytes + 1);
  return at;
}

void drop_segment() {
  if (segment.header != nullptr) {
    sys::munmap(segment.header, segment.bytes);
    let_go(segment.bytes, segment.apart ? segment.bytes : 0);
  }
  segment = {};
}

void keep_segment_apart() {
  if (segment.header == nullptr || segment.apart) return;
  hold(segment.bytes, segment.bytes);
  void* const copy = sys::mmap(segment.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  if (copy == nullptr) return let_go(segment.bytes, segment.bytes);
  const auto* const from = reinterpret_cast<const char*>(segment.header);
  auto* const to = static_cast<char*>(copy);
  __builtin_memcpy(to, from, wire::header_bytes);
  each_table(*segment.header, [=](const auto& table, const wire::region& region) {
    const std::size_t bytes = __atomic_load_n(&table.committed, __ATOMIC_ACQUIRE) * sizeof table[0];
    __builtin_memcpy(to + region.offset, from + region.offset, bytes);
  });
  constexpr int may_move = 1, fixed = 2;
  const long moved =
      sys::call(__NR_mremap, sys::word(to), segment.bytes, segment.bytes, may_move | fixed, sys::word(segment.header));
  segment.apart = moved > 0 || moved <= -4096;
  if (!segment.apart) sys::munmap(copy, segment.bytes);
  let_go(segment.bytes, segment.apart ? 0 : segment.bytes);
}

void leave_parents_segment() {
  auto& [left, left_bytes] = former_segment;
  if (segment.header == nullptr) return;
  if (left != nullptr) {  // the parent's parent's
    sys::munmap(left, left_bytes);
    let_go(left_bytes, left_bytes);
  }
  left = segment.header;
  left_bytes = segment.bytes;
  if (segment.apart) return;
  hold(0, left_bytes);
  const long result =
      sys::call(__NR_mmap, sys::word(left), left_bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, static_cast<std::uint64_t>(-1));
  if (result >= 0 || result <= -4096) return;
  let_go(0, left_bytes);
  left = nullptr;
  drop_segment();
}

namespace {

// The link says "pid:[4026531836]".
std::uint32_t pid_namespace() {
  char text[32];
  const long length = sys::readlink("/proc/self/ns/pid", text, sizeof text);
  std::uint32_t inode = 0;
  for (long i = 0; i < length; ++i)
    if (text[i] >= '0' && text[i] <= '9') inode = inode * 10 + static_cast<std::uint32_t>(text[i] - '0');
  return inode;
}

// With room left above, where the stacks of the first threads and our own tables come to lie. Measured: without it two
// threads in scopes took a tenth longer in three processes of five, as address space randomization fell
// (docs/performance.md).
void* map_below_gap(std::size_t bytes, int fd) {
  constexpr std::size_t gap_bytes = std::size_t{32} << 20;
  hold(bytes, 0);
  void* const gap = sys::mmap(gap_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
  const long base = map_unlocked(0, bytes, MAP_SHARED, fd);
  if (gap != nullptr) sys::munmap(gap, gap_bytes);
  if (!is_error(base)) return reinterpret_cast<void*>(base);
  let_go(bytes, 0);
  return nullptr;
}

// Too large for the stack of a small thread, in whose forked child the books begin. Nothing but the regions is ever
// set, and no two threads of a process begin its books at once.
constinit wire::segment_header layout{};

}  // namespace

bool create_segment(const segment_options& options, limit_met& why) {
  capacities wanted;
  auto least = limit_met::none;
  const std::uint64_t budget = budget_bytes(least);
  std::uint64_t bytes = lay_out(layout, wanted, options.lifetimes);
  while (bytes > budget && wanted.halve()) bytes = lay_out(layout, wanted, options.lifetimes);
  if (bytes > budget) {
    why = least;
    return false;
  }

  const int fd = open_segment_file(options.path);
  if (fd < 0) {
    why = fd == -23 /* ENFILE */ || fd == -24 /* EMFILE */ ? limit_met::descriptors : limit_met::none;
    return false;
  }
  char* base = nullptr;
  why = limit_met::none;
  if (sys::ftruncate(fd, bytes) == 0 && sys::fallocate(fd, 0, wire::header_bytes) != -28 /* ENOSPC */) {
    base = static_cast<char*>(map_below_gap(bytes, fd));
    if (base == nullptr) why = limit_met::address_space;
  }
  sys::close(fd);
  if (base == nullptr) {
    remove_segment_file(options.path);
    return false;
  }
  sys::madvise(base, bytes, MADV_DONTDUMP);
  // On a disk's file system each first page of a table has the kernel read the hole around it: 20 ms a process where it
  // reads ahead 8 MiB.
  if (!calls_may_be_refused) sys::madvise(base, bytes, MADV_RANDOM);

  auto& header = *reinterpret_cast<wire::segment_header*>(base);
  if (const long populated = sys::madvise(base, wire::header_bytes, advice_populate_write);
      populated != 0 && populated != -22 /* EINVAL: an older kernel */) {
    sys::munmap(base, bytes);
    let_go(bytes, 0);
    remove_segment_file(options.path);
    return false;
  }
  header = layout;
  each_table(header, [base](auto& table, const wire::region& region) { view(table, base, region); });
  segment.header = &header;
  segment.apart = false;
  strings_lock = 0;
  segment.bytes = bytes;
  const bool room = commit(segment.nodes, 1) && commit(segment.places, 1) && commit(segment.accounts, 1) &&
                    commit(segment.account_keys, 1) && commit(segment.cells, 1) && commit(segment.threads, 1) &&
                    commit(segment.writers, 1) && commit(segment.modules, 1) && commit(segment.strings, 1) &&
                    commit(segment.errors, 1) && commit(segment.scopes, 1) && commit(segment.freers, 1);
  if (!room) {
    drop_segment();
    remove_segment_file(options.path);
    return false;
  }
  if (!calls_may_be_refused) sys::madvise(base, bytes, MADV_NORMAL);  // else it goes where memory is short, used or not
  header.node_count = header.place_count = header.account_count = header.thread_count = header.scope_count = 1;
  header.freer_count = 1;
  header.string_bytes = 1;
  header.header_size = wire::header_bytes;
  header.file_bytes = bytes;
  header.pid = sys::getpid();
  header.parent_pid = sys::getppid();
  header.pid_namespace = pid_namespace();
  header.start_realtime_ns = sys::clock_ns(sys::clock_realtime);
  header.start_monotonic_ns = sys::clock_ns(sys::clock_monotonic);
  header.stacks = options.stacks;
  header.depth_limit = options.depth_limit;
  header.state = wire::lifecycle::running;
  header.forked = options.forked;
  header.tag_bytes_each = options.lifetimes ? 16 : 8;
  header.version = wire::segment_version;
  __atomic_store_n(&header.magic, wire::segment_magic, __ATOMIC_RELEASE);
  return true;
}

}  // namespace heapledger::probe

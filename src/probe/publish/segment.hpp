// The segment as the probe sees it: creating the file, and making room in its regions.
//
// Room is committed before it is used (a store into a page that a full file system cannot give would be SIGBUS).
// Not on the fast path; the callers serialise growth of one region.
#pragma once

#include "probe/base/attributes.hpp"

#include <cstddef>

#include "wire/segment.hpp"

namespace heapledger::probe {

struct segment_options {
  const char* path = nullptr;  // nullptr: in memory, for nobody to read
  wire::stacks_mode stacks = wire::stacks_mode::dwarf;
  std::uint32_t depth_limit = 0;
  bool forked = false;
  bool lifetimes = false;
};

// One array of the segment. `committed` elements may be touched.
template <class T>
struct table {
  T* data = nullptr;
  std::uint32_t capacity = 0;
  std::uint32_t committed = 0;

  T& operator[](std::size_t index) const { return data[index]; }
};

struct segment_view {
  wire::segment_header* header = nullptr;
  std::uint64_t bytes = 0;
  bool apart = false;  // a copy that is no file's
  table<wire::node> nodes;
  table<wire::place> places;
  table<wire::cell> accounts;
  table<wire::account_key> account_keys;
  table<wire::cell> cells;
  table<wire::thread> threads;
  table<wire::writer> writers;
  table<wire::module> modules;
  table<char> strings;
  table<wire::error> errors;
  table<wire::scope> scopes;
  table<wire::marker> markers;
  table<char> snapshots;
  table<wire::pool_kind> pool_kinds;
  table<wire::pool> pools;
  table<wire::pool_site> pool_sites;
  table<std::uint32_t> watch_marks;
  table<wire::watch_suspect> watch_suspects;
  table<wire::watch_slot> watch_slots;
  table<wire::watch_arm> watch_arms;
  table<wire::freer> freers;
  table<wire::writer_book> writer_books;
  table<wire::writer_lifetimes> writer_lifetimes;
  table<wire::account_lifetimes> account_lifetimes;
  table<wire::mapping_site> mapping_sites;
  table<wire::mapping> mappings;
};

HL_INTERNAL extern segment_view segment;

// A limit of the process's that leaves it without books.
enum class limit_met : std::uint8_t { none, descriptors, address_space, data, file_size };

// Creates the file (it must not exist), maps it and fills the header. False leaves nothing behind.
bool create_segment(const segment_options& options, limit_met& why);
inline bool create_segment(const segment_options& options) {
  auto why = limit_met::none;
  return create_segment(options, why);
}

void drop_segment();
// In a forked child, before it creates its own. The parent's is not written any more; but its addresses stay, for this
// thread may go on with an event of the parent's, in which a handler has forked.
void leave_parents_segment();
struct left_segment {
  void* start;
  std::size_t bytes;
};
HL_INTERNAL extern left_segment former_segment;
// Where it is known to do so, at once: what that event reads there is what it was.
void keep_segment_apart();

// True if elements [0, count) may be touched.
bool commit_bytes(void* start, std::size_t from, std::size_t to);

template <class T>
HL_HOT bool is_committed(const table<T>& room, std::uint32_t count) {
  return count <= __atomic_load_n(&room.committed, __ATOMIC_ACQUIRE);
}

template <class T>
bool commit(table<T>& room, std::uint32_t count) {
  if (is_committed(room, count)) return true;
  if (count > room.capacity) return false;
  // Small programs touch few pages, large ones make few calls.
  const std::size_t before = room.committed * sizeof(T);
  const std::size_t step_bytes = before == 0 ? 4 * 1024 : before < 64 * 1024 ? 8 * 1024 : 64 * 1024;
  std::size_t bytes = (count * sizeof(T) + step_bytes - 1) / step_bytes * step_bytes;
  if (bytes > room.capacity * sizeof(T)) bytes = room.capacity * sizeof(T);
  if (!commit_bytes(room.data, before, bytes)) return false;
  __atomic_store_n(&room.committed, static_cast<std::uint32_t>(bytes / sizeof(T)), __ATOMIC_RELEASE);
  return true;
}

inline void count_loss(wire::loss which, std::uint64_t by = 1) {
  if (segment.header != nullptr)
    __atomic_fetch_add(&segment.header->losses[static_cast<std::size_t>(which)], by, __ATOMIC_RELAXED);
}

// Copies a string into the segment; 0, the empty string, when there is no room.
std::uint32_t publish_string(const char* text, std::size_t bytes);

}  // namespace heapledger::probe

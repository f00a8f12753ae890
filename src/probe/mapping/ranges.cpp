#include "probe/mapping/ranges.hpp"

#include "probe/account/books.hpp"
#include "probe/base/lock.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

// A treap (Seidel, Aragon: Randomized Search Trees): by `start` from lower to higher, and by a number made of the
// element's index from the root down. Splitting at an address and joining again is all that is needed.
constinit std::uint32_t ranges_lock = 0;
constinit std::uint32_t root = 0;
constinit std::uint32_t unused = 0;  // a list by `lower`
constinit std::uint32_t books_begun = 0;

wire::mapping& at(std::uint32_t range) {
  return segment.mappings[range];
}
std::uint64_t end_of(const wire::mapping& range) {
  return range.start + range.bytes;
}
std::uint32_t rank(std::uint32_t range) {
  return (range ^ range >> 15) * 0x9e3779b1u;
}

struct halves {
  std::uint32_t below = 0, above = 0;
};
// Those that begin below the address, and the others.
halves split(std::uint32_t tree, std::uint64_t address) {
  halves result;
  std::uint32_t* below = &result.below;
  std::uint32_t* above = &result.above;
  while (tree != 0) {
    wire::mapping& top = at(tree);
    if (top.start < address) {
      *below = tree;
      below = &top.higher;
      tree = top.higher;
    } else {
      *above = tree;
      above = &top.lower;
      tree = top.lower;
    }
  }
  *below = *above = 0;
  return result;
}
// All of `below` begin before all of `above`.
std::uint32_t join(std::uint32_t below, std::uint32_t above) {
  std::uint32_t result = 0;
  std::uint32_t* to = &result;
  while (below != 0 && above != 0) {
    if (rank(below) > rank(above)) {
      *to = below;
      to = &at(below).higher;
      below = *to;
    } else {
      *to = above;
      to = &at(above).lower;
      above = *to;
    }
  }
  *to = below | above;
  return result;
}

std::uint32_t fresh_range() {
  if (const std::uint32_t again = unused; again != 0) {
    unused = at(again).lower;
    return again;
  }
  const std::uint32_t count = segment.header->mapping_count;
  const std::uint32_t fresh = count == 0 ? 1 : count;
  if (!commit(segment.mappings, fresh + 1)) {
    count_loss(wire::loss::mappings_full);
    return 0;
  }
  __atomic_store_n(&segment.header->mapping_count, fresh + 1, __ATOMIC_RELEASE);
  return fresh;
}

void count(std::uint32_t site, std::uint64_t bytes, bool mapped) {
  if (site >= segment.header->mapping_site_count) return;
  wire::mapping_site& of = segment.mapping_sites[site];
  std::uint64_t* const now = segment.header->mapped_bytes;
  std::uint64_t& of_kind = now[static_cast<std::size_t>(of.kind)];
  __atomic_store_n(&of_kind, mapped ? of_kind + bytes : of_kind - bytes, __ATOMIC_RELAXED);
  std::uint64_t& of_site = mapped ? of.mapped_bytes : of.unmapped_bytes;
  __atomic_store_n(&of_site, of_site + bytes, __ATOMIC_RELAXED);
  std::uint64_t sum = 0;
  for (std::size_t kind = 0; kind < wire::mapping_kind_count; ++kind) sum += now[kind];
  std::uint64_t& peak = segment.header->mapped_peak_bytes;
  if (sum > peak) __atomic_store_n(&peak, sum, __ATOMIC_RELAXED);
}

std::uint32_t make(std::uint64_t start, std::uint64_t end, std::uint32_t site) {
  const std::uint32_t fresh = fresh_range();
  if (fresh != 0) at(fresh) = {start, end - start, site, 0, 0, 0};
  return fresh;
}

// As split(); a range in which the address lies becomes two.
halves cut(std::uint32_t tree, std::uint64_t address) {
  halves result = split(tree, address);
  std::uint32_t last = result.below;
  while (last != 0 && at(last).higher != 0) last = at(last).higher;
  if (last == 0 || end_of(at(last)) <= address) return result;
  const std::uint32_t rest = make(address, end_of(at(last)), at(last).site);
  if (rest == 0) count(at(last).site, end_of(at(last)) - address, false);
  at(last).bytes = address - at(last).start;
  result.above = join(rest, result.above);
  return result;
}

std::uint32_t take_out(std::uint64_t start, std::uint64_t end) {
  const halves upper = cut(root, end);
  const halves lower = cut(upper.below, start);
  root = join(lower.below, upper.above);
  return lower.above;
}

void put_in(std::uint32_t tree, std::uint64_t start) {
  const halves around = split(root, start);
  root = join(join(around.below, tree), around.above);
}

void free_all(std::uint32_t tree) {
  while (tree != 0) {
    wire::mapping& one = at(tree);
    count(one.site, one.bytes, false);
    const std::uint32_t rest = join(one.lower, one.higher);
    one = {};
    one.lower = unused;
    unused = tree;
    tree = rest;
  }
}

// In a forked child that has no books yet the segment is its parent's, and so may be whoever holds the lock.
bool has_books() {
  return process.generation != 0 && segment.header != nullptr;
}
// An allocator's mappings in a program without any of its own need no lock. Whoever's are asked for is behind whoever
// mapped them, so it is seen that they are there.
bool nothing_is_mapped() {
  return __atomic_load_n(&root, __ATOMIC_RELAXED) == 0;
}
wire::mapping_kind kind_of_site(std::uint32_t site) {
  return site < segment.header->mapping_site_count ? segment.mapping_sites[site].kind : wire::mapping_kind::anonymous;
}
bool are_of_now(taken_ranges ranges) {
  return ranges.first != 0 && has_books() && ranges.books == books_begun;
}

}  // namespace

void put_range(std::uint64_t start, std::uint64_t end, std::uint32_t site) {
  if (!has_books() || start >= end || (site == 0 && nothing_is_mapped())) return;
  lock_guard held(ranges_lock);
  free_all(take_out(start, end));
  const std::uint32_t fresh = site == 0 ? 0 : make(start, end, site);
  if (fresh == 0) return;
  count(site, end - start, true);
  put_in(fresh, start);
}

taken_ranges take_ranges(std::uint64_t start, std::uint64_t end) {
  if (!has_books() || start >= end || nothing_is_mapped()) return {};
  lock_guard held(ranges_lock);
  return {take_out(start, end), books_begun};
}

wire::mapping_kind kind_of(taken_ranges ranges) {
  return kind_of_site(are_of_now(ranges) ? at(ranges.first).site : 0);
}

wire::mapping_kind kind_at(std::uint64_t address) {
  if (!has_books() || nothing_is_mapped()) return wire::mapping_kind::anonymous;
  lock_guard held(ranges_lock);
  std::uint32_t range = root;
  while (range != 0 && (address < at(range).start || address >= end_of(at(range))))
    range = address < at(range).start ? at(range).lower : at(range).higher;
  return kind_of_site(range == 0 ? 0 : at(range).site);
}

void put_back(taken_ranges ranges) {
  if (!are_of_now(ranges)) return;
  lock_guard held(ranges_lock);
  put_in(ranges.first, at(ranges.first).start);  // nothing lies between them
}

void give_up(taken_ranges ranges) {
  if (!are_of_now(ranges)) return;
  lock_guard held(ranges_lock);
  free_all(ranges.first);
}

void forget_ranges() {
  ranges_lock = 0;
  root = unused = 0;
  ++books_begun;
}

}  // namespace heapledger::probe

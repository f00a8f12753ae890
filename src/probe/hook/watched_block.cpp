#include "probe/hook/watched_block.hpp"

#include <cstring>

#include "probe/hook/aligned.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/misuse.hpp"

namespace heapledger::probe {
namespace {

std::uint64_t alignment_of(const void* block) {
  constexpr std::uint64_t plain = 16;
  const std::uint64_t asked = requested_alignment.alignment;
  if (requested_alignment.block != block || asked <= plain) return plain;
  const auto address = reinterpret_cast<std::uint64_t>(block);
  return (asked & (asked - 1)) == 0 ? asked : address & -address;  // some allocators round up what is no power of two
}

// The program finds as much room as it would have found, and the alignment that it asked for.
watch_offer offer_for(void* block, const suspect_block& what) {
  const std::size_t usable = what.usable < large_usable_bytes ? what.usable - state.trailer_bytes : what.usable;
  return {what.account, what.bytes, usable, alignment_of(block)};
}

bool list(void* block, const suspect_block& what, std::uint64_t born_ns) {
  return add_large({reinterpret_cast<std::uint64_t>(block), what.bytes, what.account, state.birth, what.kind, born_ns});
}

// A slot whose block the side table has no room for would never be recognised.
HL_COLD void* place_and_list(void* block, const suspect_block& what, std::uint64_t born_ns) {
  void* const slot = place(offer_for(block, what));
  if (slot == nullptr || list(slot, what, born_ns)) return slot;
  leave_slot(slot);
  return nullptr;
}

std::uint64_t& end_word(void* block) {
  return *reinterpret_cast<std::uint64_t*>(static_cast<char*>(block) + watched_usable(block));
}

void check_end(books& own, void* block, std::uint32_t account) {
  const tag found(end_word(block), block, state.tag_key);
  std::size_t bytes;
  if (!found.intact(watched_usable(block) + tag_bytes, bytes)) report_misuse(own, wire::error_kind::overflow, account);
}

}  // namespace

HL_COLD void count_inherited(std::size_t bytes) {
  count_loss(wire::loss::inherited_frees);
  __atomic_fetch_add(&segment.header->inherited_freed_bytes, bytes, __ATOMIC_RELAXED);
}

HL_COLD void* book_suspect(books& own, void* block, const suspect_block& what) {
  const std::uint64_t born_ns = state.lifetimes ? begin_life(what.account) : 0;
  void* const slot = HL_UNLIKELY(is_chosen(own, what.account)) ? place_and_list(block, what, born_ns) : nullptr;
  if (slot != nullptr) {
    if (what.reallocated) std::memcpy(slot, block, what.bytes);
    next.free(block);
    block = slot;
    end_word(block) = tag::make(block, state.tag_key, what.account, 0, what.kind);
  } else if (what.usable < large_usable_bytes) {
    const std::size_t slack = what.usable - tag_bytes - what.bytes;
    tag_word(block, what.usable) = tag::make(block, state.tag_key, what.account, slack, what.kind);
    if (state.lifetimes) note_birth(block, what.usable, born_ns);
  } else {
    list(block, what, born_ns);
  }
  wire::cell& cell = own.cell_of(what.account);
  if (what.reallocated) ++cell.reallocations;
  book_allocation(own, cell, block, what.bytes);
  return block;
}

HL_COLD bool withdraw_watched(books& own, void* block, block_kind by, large_block& out) {
  if (!take_large(block, out)) {
    report_misuse(own, wire::error_kind::double_free, account_in_slot(block));
    return false;
  }
  if (out.birth != state.birth) {
    count_inherited(out.bytes);
    return false;
  }
  if (out.kind != by) report_mismatch(own, out.account, out.kind, by);
  check_end(own, block, out.account);
  if (state.lifetimes) end_large_life(own, out);
  book_free(own, out.account, block, out.bytes);
  return true;
}

HL_COLD bool release_watched(books& own, void* block, block_kind by) {
  large_block found{};
  withdraw_watched(own, block, by, found);
  if (found.address != 0) leave_slot(block);
  return false;
}

HL_COLD bool drop_watched(void* block) {
  leave_slot(block);
  return false;
}

HL_COLD void* move_out_of_slot(void* block, std::size_t bytes) {
  void* const moved = next.malloc(with_tag(bytes));
  if (moved == nullptr) return nullptr;
  const std::size_t usable = watched_usable(block);
  std::memcpy(moved, block, usable < bytes ? usable : bytes);
  leave_slot(block);
  return moved;
}

}  // namespace heapledger::probe

#include "probe/hook/watched_block.hpp"

#include <cstring>

#include "probe/account/errors.hpp"

namespace heapledger::probe {
namespace {

// The program finds as much room as it would have found, and an alignment as good. What was asked for is not known any
// more; what is aligned to a whole slot, asked for or by chance, stays where it is.
watch_offer offer_for(void* block, const suspect_block& what) {
  const std::size_t usable = usable_size(block);
  const auto address = reinterpret_cast<std::uint64_t>(block);
  return {what.account, what.bytes, usable < large_usable_bytes ? usable - tag_bytes : usable, address & -address};
}

std::uint64_t& end_word(void* block) {
  return *reinterpret_cast<std::uint64_t*>(static_cast<char*>(block) + watched_usable(block));
}

void check_end(void* block, std::uint32_t account) {
  const tag found(end_word(block));
  if (!found.intact(block, state.tag_key)) report_error(wire::error_kind::overflow, account);
}

}  // namespace

HL_COLD void count_inherited(std::size_t bytes) {
  count_loss(wire::loss::inherited_frees);
  __atomic_fetch_add(&segment.header->inherited_freed_bytes, bytes, __ATOMIC_RELAXED);
}

HL_COLD void* book_suspect(books& own, void* block, const suspect_block& what) {
  if (void* const slot = place(own, offer_for(block, what)); slot != nullptr) {
    if (what.reallocated) std::memcpy(slot, block, what.bytes);
    next.free(block);
    block = slot;
    end_word(block) = tag::make(block, state.tag_key, what.account, 0, what.kind).word();
    add_large({reinterpret_cast<std::uint64_t>(block), what.bytes, what.account, state.birth, what.kind});
  } else if (const std::size_t usable = usable_size(block); usable < large_usable_bytes) {
    const std::size_t slack = usable - tag_bytes - what.bytes;
    tag_word(block, usable) = tag::make(block, state.tag_key, what.account, slack, what.kind).word();
  } else {
    add_large({reinterpret_cast<std::uint64_t>(block), what.bytes, what.account, state.birth, what.kind});
  }
  wire::cell& cell = own.cell_of(what.account);
  if (what.reallocated) ++cell.reallocations;
  book_allocation(own, cell, block, what.bytes);
  return block;
}

HL_COLD bool withdraw_watched(books& own, void* block, block_kind by, large_block& out) {
  if (!take_large(block, out)) {
    report_error(wire::error_kind::double_free, account_in_slot(block));
    return false;
  }
  if (out.birth != state.birth) {
    count_inherited(out.bytes);
    return false;
  }
  if (out.kind != by) report_error(wire::error_kind::mismatch, out.account);
  check_end(block, out.account);
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

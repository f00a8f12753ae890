#include "probe/hook/event.hpp"

#include "probe/account/errors.hpp"
#include "probe/account/large_blocks.hpp"

namespace heapledger::probe {

HL_COLD void book_large(books&, void* block, const known_block& what) {
  // Without an entry the free will not be recognised; the loss is counted there too.
  add_large({reinterpret_cast<std::uint64_t>(block), what.bytes, what.account, state.birth, what.kind});
}

// The memory may still hold the tag of an earlier block.
HL_COLD void leave_unbooked(void* block, std::size_t usable) {
  if (usable >= tag_bytes && usable < large_usable_bytes) tag_word(block, usable) = 0;
  count_loss(wire::loss::unbooked);
}

namespace {

bool foreign() {
  count_loss(wire::loss::foreign_frees);
  return true;
}

bool inherited(std::size_t bytes) {
  count_loss(wire::loss::inherited_frees);
  __atomic_fetch_add(&segment.header->inherited_freed_bytes, bytes, __ATOMIC_RELAXED);
  return true;
}

bool release_large(books& own, void* block, block_kind by) {
  large_block found;
  if (!take_large(block, found)) return foreign();
  if (found.birth != state.birth) return inherited(found.bytes);
  if (found.kind != by) report_error(wire::error_kind::mismatch, found.account);
  book_free(own, found.account, block, found.bytes);
  return true;
}

bool known_account(std::uint32_t account) {
  return segment.header != nullptr && account < __atomic_load_n(&segment.header->account_count, __ATOMIC_ACQUIRE);
}

// The program wrote past the end of its block. Byte 0 alone broken, the size and the account are still right;
// broken further, the size is taken to have been all that fits, and counted as unsure.
void release_overwritten(books& own, void* block, std::size_t usable, const tag found) {
  std::uint32_t account = found.account();
  std::size_t slack = found.slack();
  constexpr std::size_t largest_glibc_slack = 24;
  const bool size_known = slack <= (next.glibc ? largest_glibc_slack : usable - tag_bytes) && known_account(account);
  if (!size_known) {
    count_loss(wire::loss::overflow_size);
    slack = 0;
    if (!known_account(account)) account = 0;
  }
  report_error(wire::error_kind::overflow, account);
  book_free(own, account, block, usable - tag_bytes - slack);
}

}  // namespace

HL_COLD bool release_odd(const booking& event, void* block, std::size_t usable, block_kind by) {
  if (is_bootstrap(block)) return false;
  if (!event) {
    count_loss(wire::loss::unbooked);
    return true;
  }
  if (usable >= large_usable_bytes) return release_large(*event, block, by);
  if (usable < tag_bytes) return foreign();
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word);
  const std::size_t bytes = usable - tag_bytes - found.slack();
  if (found.intact(block, state.tag_key)) {
    if (found.kind() == block_kind::freed) {
      report_error(wire::error_kind::double_free, found.account());
      return true;  // the allocator does what it would do without us
    }
    report_error(wire::error_kind::mismatch, found.account());
    book_free(*event, found.account(), block, bytes);
  } else if (inherited_tag(block, word)) {
    return inherited(bytes);
  } else if (found.pointer_intact(block, state.tag_key) && found.kind() != block_kind::freed) {
    release_overwritten(*event, block, usable, found);
  } else {
    return foreign();
  }
  word = tag::make(block, state.tag_key, found.account(), found.slack(), block_kind::freed).word();
  return true;
}

}  // namespace heapledger::probe

// The free side of event.hpp, off the fast path: whose block it is, and whether the program has written over its tag.
#include "probe/base/access.hpp"
#include "probe/hook/event.hpp"

#include <unistd.h>

#include "probe/account/large_blocks.hpp"
#include "probe/hook/late.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/misuse.hpp"
#include "probe/hook/watched_block.hpp"
#include "probe/scope/accounts.hpp"
#include "probe/scope/slots.hpp"

namespace heapledger::probe {
namespace {

bool foreign() {
  count_loss(wire::loss::foreign_frees);
  return true;
}

bool inherited(std::size_t bytes) {
  count_inherited(bytes);
  return true;
}

// While the probe came, an operator new that was not ours may have asked malloc, which was.
bool made_by_operator(std::uint32_t account, block_kind kind) {
  if (!state.attached || kind != block_kind::from_malloc || !known_account(account)) return false;
  const std::uint32_t node = segment.account_keys[account].node;
  const std::uint64_t where = segment.places[segment.nodes[node].place].where;
  return node != 0 && in_their_operator_new(where & wire::place_address_mask & ~wire::place_exact_address);
}

bool release_untagged(books& own, void* block, const large_block& found, block_kind by) {
  if (found.birth != state.birth) return inherited(found.bytes);
  if (found.kind != by && !made_by_operator(found.account, found.kind))
    report_mismatch(own, found.account, found.kind, by);
  if (HL_UNLIKELY(state.lifetimes)) end_large_life(own, found);
  book_free(own, found.account, block, found.bytes);
  return true;
}

bool release_large(books& own, void* block, block_kind by) {
  large_block found;
  return take_large(block, found) ? release_untagged(own, block, found, by) : foreign();
}

// Of a tag whose code is broken.
bool size_is_known(const tag& found, std::size_t usable) {
  const std::size_t room = usable - tag_bytes;
  const std::size_t largest_glibc_slack = 16 + state.trailer_bytes;
  const std::size_t largest_slack = next.glibc && largest_glibc_slack < room ? largest_glibc_slack : room;
  return found.slack_without_byte_0() <= largest_slack && known_account(found.account());
}

// The program wrote past the end of its block. Byte 0 alone broken, the size and the account are still right;
// broken further, the size is taken to have been all that fits, and counted as unsure.
void release_overwritten(books& own, void* block, std::size_t usable, const tag found) {
  std::uint32_t account = found.account();
  std::size_t slack = found.slack_without_byte_0();
  const std::size_t room = usable - tag_bytes;
  if (!size_is_known(found, usable)) {
    count_loss(wire::loss::overflow_size);
    slack = 0;
    if (!known_account(account)) account = 0;
  }
  report_misuse(own, wire::error_kind::overflow, account);
  if (state.lifetimes) lose_life(own);  // what came through to the tag came through the time of birth
  book_free(own, account, block, room - slack);
}

// In a program in which we were not from the start, most of what was never tagged is freed: of so many words one may
// read like a tag by chance. It would not name an account that there is.
bool believable(const tag& found) {
  return HL_LIKELY(!state.attached) || known_account(found.account());
}

bool release_odd(books& own, void* block, std::size_t usable, block_kind by) {
  if (HL_UNLIKELY(is_watched(block))) return release_watched(own, block, by);
  if (is_bootstrap(block)) return false;
  if (!may_have_tag(usable)) return release_large(own, block, by);
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (found.intact(usable, bytes) && believable(found)) {
    if (!made_by_operator(found.account(), found.kind())) report_mismatch(own, found.account(), found.kind(), by);
    if (state.lifetimes) end_life(own, found.account(), block, usable, bytes);
    book_free(own, found.account(), block, bytes);
    word = ~word;
  } else if (const tag freed(~word, block, state.tag_key);
             !state.attached && !state.passed_by && freed.intact(usable, bytes)) {
    // In a program in which not every allocation is ours, it may be somebody else's block since.
    report_misuse(own, wire::error_kind::double_free, freed.account());
    // the allocator does what it would do without us
  } else if (inherited_tag(block, usable, bytes)) {
    inherited(bytes);
  } else if (large_block aside; !next.glibc && take_large(block, aside)) {
    release_untagged(own, block, aside, by);  // its allocator knows by now how large it is
  } else if (found.recognized() && (!state.attached || size_is_known(found, usable))) {
    release_overwritten(own, block, usable, found);
    word = ~tag::make(block, state.tag_key, 0, 0, by);
  } else {
    foreign();
  }
  return true;
}

}  // namespace

// The main heap's end, or that of what is open of another arena's, which the kernel is asked about: not for blocks that
// glibc keeps at hand when they are freed, of which one in 256 would ask (2 % of the list benchmark).
bool is_beyond_heap(const std::uint64_t& tag, std::size_t usable) {
  constexpr std::size_t kept_at_hand_bytes = 1032;
  return next.glibc && (&tag == ::sbrk(0) || (usable > kept_at_hand_bytes && !is_readable(&tag)));
}

bool release(books& own, void* block, block_kind by) {
  const std::size_t usable = usable_size(block);
  if (!may_have_tag(usable)) return release_odd(own, block, usable, by);
  std::uint64_t& word = tag_word(block, usable);
  if (is_cut_off(word, usable)) return foreign();
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (HL_UNLIKELY(!found.good(by, usable, bytes) || !believable(found))) return release_odd(own, block, usable, by);
  word = ~word;
  if (HL_UNLIKELY(state.lifetimes)) end_life(own, found.account(), block, usable, bytes);
  book_free(own, found.account(), block, bytes);
  return true;
}

template <block_kind Kind>
void free_other(books* own, void* block) {
  const bool pass_on = release(*own, block, Kind);
  give(own, own->known_generation);
  if (pass_on) next.free(block);
}

// The rest of free_block(). What is not of the scope that the thread is in, and what changes a mark, takes the longer
// way.
template <block_kind Kind>
void free_elsewhere(books* own, void* block, std::uint64_t& word, std::size_t bytes, std::uint32_t account) {
  wire::cell* const cell = known_cell(*own, account);
  if (HL_UNLIKELY(cell == nullptr || !peak_settled(*cell))) return free_other<Kind>(own, block);
  if (scope_of_account(account) != index_of(own->here) || HL_UNLIKELY(own->gated && own->scopes->nested))
    return free_other<Kind>(own, block);
  word = ~word;
  add_free(*own, *cell, block, bytes);
  if (HL_UNLIKELY(own->live < own->publish_below)) return publish_and_free(own, block);
  give(own, own->known_generation);
  next.free(block);
}

template <block_kind Kind>
HL_COLD void free_first(void* block) {
  bool pass_on = true;
  {
    const booking event(__builtin_dwarf_cfa());
    if (event)
      pass_on = release(*event, block, Kind);
    else if (is_watched(block))
      pass_on = drop_watched(block);
    else if (is_bootstrap(block))
      pass_on = false;
    else
      count_unbooked();
  }
  if (pass_on) next.free(block);
}

HL_COLD void publish_and_free(books* own, void* block) {
  publish_live(*own);
  give(own, own->known_generation);
  next.free(block);
}

#define HL_KIND(kind)                                                                            \
  template void free_other<kind>(books*, void*);                                                 \
  template void free_elsewhere<kind>(books*, void*, std::uint64_t&, std::size_t, std::uint32_t); \
  template void free_first<kind>(void*);
HL_KIND(block_kind::from_malloc)
HL_KIND(block_kind::from_new)
HL_KIND(block_kind::from_new_array)
#undef HL_KIND

}  // namespace heapledger::probe

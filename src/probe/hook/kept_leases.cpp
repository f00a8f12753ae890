#include "probe/hook/kept_leases.hpp"

#include "probe/account/large_blocks.hpp"
#include "probe/hook/block.hpp"
#include "probe/hook/event.hpp"

namespace heapledger::probe {

HL_COLD bool find_booked(void* block, replaced_block& out) {
  out = {};
  const std::size_t usable = usable_size(block);
  if (large_block found; (!may_have_tag(usable) || !next.glibc) && find_large(block, found)) {  // or watched
    out = {found.account, found.bytes};
    return found.birth == state.birth;
  }
  if (!may_have_tag(usable) || is_cut_off(tag_word(block, usable), usable)) return false;
  const tag found(tag_word(block, usable), block, state.tag_key);
  std::size_t bytes;
  if (!found.intact(usable, bytes) || !known_account(found.account())) return false;
  out = {found.account(), bytes};
  return true;
}

HL_COLD void kept_leases::give_back(books& own, std::uint32_t account_before) {
  scopes_->holding = before_;
  if (own.scopes != scopes_) return;
  const std::uint32_t before = scope_of_account(account_before);
  const std::uint32_t here = scopes_->current != nullptr ? scopes_->current->of->index : 0;
  if (here != 0) return_leases(own, here);
  if (before != 0 && before != here) return_leases(own, before);
}

}  // namespace heapledger::probe

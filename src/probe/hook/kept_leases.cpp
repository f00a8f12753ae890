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

}  // namespace heapledger::probe

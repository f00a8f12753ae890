#include "probe/hook/change_kind.hpp"

#include "probe/account/large_blocks.hpp"

namespace heapledger::probe {

HL_COLD void change_kind(void* block, block_kind kind) {
  const std::size_t usable = usable_size(block);
  if (large_block found; (!may_have_tag(usable) || !next.glibc) && take_large(block, found)) {
    found.kind = kind;
    add_large(found);
    return;
  }
  if (!may_have_tag(usable)) return;
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (found.intact(usable, bytes)) word = tag::make(block, state.tag_key, found.account(), found.slack(), kind);
}

}  // namespace heapledger::probe

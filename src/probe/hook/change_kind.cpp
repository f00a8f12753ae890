#include "probe/hook/change_kind.hpp"

#include "probe/account/large_blocks.hpp"

namespace heapledger::probe {

HL_COLD void change_kind(void* block, block_kind kind) {
  const std::size_t usable = usable_size(block);
  if (usable >= large_usable_bytes) {
    large_block found;
    if (!take_large(block, found)) return;
    found.kind = kind;
    add_large(found);
    return;
  }
  std::uint64_t& word = tag_word(block, usable);
  const tag found(word, block, state.tag_key);
  std::size_t bytes;
  if (found.intact(usable, bytes)) word = tag::make(block, state.tag_key, found.account(), found.slack(), kind);
}

}  // namespace heapledger::probe

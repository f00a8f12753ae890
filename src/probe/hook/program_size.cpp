#include "probe/hook/program_size.hpp"

#include "probe/hook/block.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/watched_block.hpp"

namespace heapledger::probe {

std::size_t program_size(void* block) {
  if (block == nullptr) return 0;
  if (is_bootstrap(block)) return bootstrap_size(block);
  if (is_watched(block)) return watched_usable(block);
  const std::size_t usable = usable_size(block);
  if (usable >= large_usable_bytes || usable < tag_bytes) return usable;
  // Nothing is tagged any more, and a block may have the tag of one that was there before.
  if (state.detached) return usable;
  const std::uint64_t word = tag_word(block, usable);
  std::size_t bytes;
  if (!tag(word, block, state.tag_key).intact(usable, bytes)) {
    // What was freed while the probe was out of use may be somebody else's block by now, with the tag still in it.
    if (state.attached || !inherited_tag(block, usable, bytes)) return usable;
  }
  return usable < state.trailer_bytes ? 0 : usable - state.trailer_bytes;
}

}  // namespace heapledger::probe

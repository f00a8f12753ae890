// Who frees whose memory: what was freed in another scope than the one that allocated it, by the kinds of both. Each
// writer adds to elements of its own, with plain stores; a reader adds them up.
#pragma once

#include <cstdint>

#include "probe/account/books.hpp"

namespace heapledger::probe {

// One pair of kinds that a thread has met lately, and its element.
struct known_freer {
  std::uint32_t owner, by;
  std::uint32_t element;  // + 1; 0: none
};

// `late`: the scope that allocated was closed. `sign`: -1 takes it back.
void note_freer(books& own, std::uint32_t owner_kind, bool late, std::size_t bytes, int sign);

void reset_freers(bool unmap);

}  // namespace heapledger::probe

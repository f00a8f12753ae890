// The leak watch inside the program: some blocks of suspect accounts live in slots, where it can be seen from outside
// whether anything touches them. docs/leak-watch-internals.md.
//
// Everything here is off the fast paths, under one lock, with signals blocked.
#pragma once

#include "probe/account/books.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/watch/window.hpp"

namespace heapledger::probe {

// An allocation of a suspect account, or of wire::watch_pool_site | a suspect site: a coin for each, and nothing else
// for nearly all of them.
bool is_chosen(books& own, std::uint32_t account);

// Gives one that was chosen a slot, if there is room: zeroed memory of at least so many usable bytes and such an
// alignment. nullptr: it stays where it is.
struct watch_offer {
  std::uint32_t account;  // or wire::watch_pool_site | the site
  std::uint64_t bytes;
  std::uint64_t usable;     // what the program may use, as far as it can ask
  std::uint64_t alignment;  // a power of two
};
void* place(const watch_offer& offer);

// The same for a chunk of a pool, taken by a suspect site: the pool's own chunk waits meanwhile, and the slot knows it.
void* place_chunk(books& own, std::uint32_t site, void* chunk, const watch_offer& offer);
inline bool is_suspect_site(std::uint32_t site) {
  return HL_UNLIKELY(__atomic_load_n(&segment.pool_sites[site].mark, __ATOMIC_RELAXED) != 0);
}
// The chunk that waits for what was placed there; nullptr: nothing is there any more, or no chunk's.
void* chunk_of_placed(const void* placed);

// The block's slot is empty now.
void leave_slot(void* block);

// Of the last block that had this slot.
std::uint32_t account_in_slot(const void* block);

// In a forked child, when it begins books of its own.
void reset_watch();

// What they do, for a fork that calls none.
void prepare_fork();
void fork_in_parent();
void fork_in_child();
// Fork handlers, to be the first that are registered: a failure means that there can be no watch.
void start_fork_handlers();

}  // namespace heapledger::probe

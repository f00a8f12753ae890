// Which stacks took chunks from which pools, for pools that say so at each event.
//
// Shared by all threads and written with atomic adds: a pool that asks for this pays for a walk of the stack anyway.
#pragma once

#include <cstddef>
#include <cstdint>

#include "probe/account/books.hpp"

namespace heapledger::probe {

// Books a chunk on the stack that `own` walked last. The answer names it when the chunk is freed; 0: nowhere.
std::uint32_t book_chunk(books& own, std::uint32_t kind, std::size_t bytes);
// The site that an answer of book_chunk names, in the segment of now; 0: none of it.
std::uint32_t site_index_of(std::uint32_t answer);
void book_chunk_free(std::uint32_t site, std::size_t bytes);

// After a fork, with a new segment: chunks from before are the parent's, and counted no more.
void forget_pool_sites();
// As site_index::follow_code.
void follow_code_of_pool_sites();

}  // namespace heapledger::probe

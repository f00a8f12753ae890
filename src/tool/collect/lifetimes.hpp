// How long blocks lived, of a segment whose program was started with --lifetimes. Numbers that no process can reach are
// left out.
#pragma once

#include "tool/collect/books.hpp"
#include "tool/collect/segment_copy.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::collect {

// To each account its lives.
void add_lives(const segment_copy& segment, books& to);

// The histogram of all, and that there is one.
void add_lifetimes(const segment_copy& segment, profile& to);

}  // namespace heapledger::collect

// Errors of the program that the tags reveal, counted by kind, by the stack that allocated the block and by the one
// that frees it.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

struct block_error {
  wire::error_kind kind;
  std::uint32_t account;  // that allocated the block
  wire::call_family allocated_by = wire::call_family::unknown, freed_by = wire::call_family::unknown;
};

// The block is freed by the stack that `own` walked last.
void count_error(books& own, const block_error& found);

void forget_errors();  // with a new segment
// As site_index::follow_code.
void follow_code_of_errors();

}  // namespace heapledger::probe

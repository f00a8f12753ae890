// Who books: hands `books` to threads, takes them back when threads end, and keeps the table of threads.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

struct registry_options {
  std::uint32_t depth_limit = 0;
  wire::stacks_mode stacks = wire::stacks_mode::dwarf;
  bool foreign_blocks = false;  // many: what looks like a tag is looked at twice
};

void reset_registry(const registry_options& options);

// nullptr when there is no room; the event then goes unbooked, and is counted.
books* acquire_books(std::uint32_t thread_record);
void release_books(books* own);

std::uint32_t open_thread_record();
void close_thread_record(std::uint32_t record);
void refresh_thread_name(wire::thread& thread);

std::uint32_t registered_books();
books* all_books();  // linked by next_made

}  // namespace heapledger::probe

// A thread's books from its first event to after its last destructor, and the books of a handler that interrupts one.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

// So that books are given back. False: no room for one more key of thread-specific data.
bool await_thread_ends();

// Whether something is given back when this thread ends; it is asked before that is taken. No malloc.
bool hears_of_thread_end();

// The books for an event of this thread, at this stack position; nullptr: there is no room for more books.
books* usable_books(const void* at);

// After fork: this thread's are the parent's.
void leave_books();

}  // namespace heapledger::probe

// The books of a program that ran already when the probe was loaded: process.cpp's part of attach.cpp.
#pragma once

namespace heapledger::probe {

// The probe waits, and this thread is the one for which it begins. False: it keeps books, is about to, or did so and
// is not to begin again. `quiet`: nobody is in the middle of what those books were for.
bool begin_attaching(bool quiet);
void give_up_attaching();  // it waits again

// Opens the books; what comes by the hooks is booked from now on. False: there is no place for them.
bool keep_late_books(const char* settings);

// Nothing is booked any more. False: these are no late books, or not any more.
bool end_late_books();

// Whether there are, or ever were, blocks that the next allocator knows nothing of.
bool blocks_in_slots();

}  // namespace heapledger::probe

// strdup and strndup of an allocator that brings its own, as mimalloc 3.6 does and 2.0.9 does not: they call the
// allocator past us, and their blocks would be nobody's when they are freed. Those of the C library call malloc, and so
// us.
#pragma once

#include <cstddef>

namespace heapledger::probe {

struct text_copiers {
  char* (*strdup)(const char*);
  char* (*strndup)(const char*, std::size_t);
  bool of_allocator;  // else whoever stands behind us is asked
};

// What is behind ours. Looked up once, with dlsym; in a program that ran already with the loader's lock held, before
// the first event.
const text_copiers& copiers_behind();
void look_up_copiers();

}  // namespace heapledger::probe

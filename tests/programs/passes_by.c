// Opened with RTLD_DEEPBIND, it allocates by libc's malloc, whatever stands before it.
#include <stdlib.h>
#include <string.h>

void* make(size_t bytes);

void* make(size_t bytes) {
  void* const block = malloc(bytes);
  if (block) memset(block, 'x', 4);  // and leaves the rest as it was
  return block;
}

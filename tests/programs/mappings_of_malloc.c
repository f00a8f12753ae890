// Prints what glibc says of its heap before and after the first small block, and of which sizes it makes mappings of
// their own: of no size up to that of one that was freed.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  struct mallinfo2 before = mallinfo2();
  void* volatile small = malloc(1);
  struct mallinfo2 after = mallinfo2();
  printf("%zu bytes of heap with %zu in use at first, and %zu with %zu for %s byte\n", before.arena, before.uordblks,
         after.arena, after.uordblks, small ? "one" : "no");
  for (size_t bytes = 100000; bytes <= 400000; bytes += 50000) {
    size_t mappings = mallinfo2().hblks;
    void* volatile block = malloc(bytes);
    printf("%zu bytes: %s\n", bytes, block && mallinfo2().hblks > mappings ? "a mapping" : "in the heap");
  }
}

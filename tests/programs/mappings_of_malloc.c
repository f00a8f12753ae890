// Prints of which sizes glibc makes mappings of their own: of no size up to that of one that was freed.
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  for (size_t bytes = 100000; bytes <= 400000; bytes += 50000) {
    size_t before = mallinfo2().hblks;
    void* volatile block = malloc(bytes);
    printf("%zu bytes: %s\n", bytes, block && mallinfo2().hblks > before ? "a mapping" : "in the heap");
  }
}

// What a JIT does for debuggers and exceptions: unwind rules for code of its own are registered. libgcc allocates,
// under its own lock, when it first looks at them.
#include <stdlib.h>

void __register_frame(void*);

// A common information entry, the description of one function, and the end.
static const unsigned char rules[] __attribute__((aligned(8))) = {
    20, 0, 0,  0, 0, 0, 0, 0,    1, 0, 1, 0x78, 16, 0x0c, 7,  8, 0x90, 1, 0, 0, 0, 0, 0, 0, 20, 0,
    0,  0, 28, 0, 0, 0, 0, 0x10, 0, 0, 0, 0,    0,  0,    16, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0,  0,
};

__attribute__((noinline)) static void site_after(void) {
  for (int i = 0; i < 10; i++) free(malloc(100));
}

int main(void) {
  unsigned char* mine = malloc(sizeof rules);
  for (size_t i = 0; i < sizeof rules; i++) mine[i] = rules[i];
  __register_frame(mine);
  site_after();
}

// A library that registers unwind rules, as a JIT's does, with the runtime that it needs itself, and asks that runtime
// for them.
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct bases {
  void *text, *data, *function;
};
void __register_frame(void*);
void __deregister_frame(void*);
const void* _Unwind_Find_FDE(void*, struct bases*);

static char code[64];
// A common information entry, the description of one function, and the end.
static unsigned char rules[] __attribute__((aligned(8))) = {
    20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1, 0, 0, 0, 0, 0, 0, 28, 0, 0, 0, 28, 0,
    0,  0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,    0,  0,    0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0, 0,  0,
};

static int is_known(void) {
  struct bases found;
  return _Unwind_Find_FDE(code + 8, &found) != NULL;
}

void use_rules(void) {
  const uint64_t begin = (uint64_t)(uintptr_t)code, bytes = sizeof code;
  memcpy(rules + 32, &begin, sizeof begin);
  memcpy(rules + 40, &bytes, sizeof bytes);
  const int before = is_known();
  __register_frame(rules);
  const int meanwhile = is_known();
  __deregister_frame(rules);
  printf("known before %d, registered %d, after %d\n", before, meanwhile, is_known());
}

/* Refers to the probe weakly only, since its libraries allocate for it: a linker might think that it is not needed. */
#include <heapledger/heapledger.h>
#include <stdio.h>
#include <stdlib.h>

void* keep(size_t bytes);

int main(void) {
  heapledger_usage used = {0};
  if (heapledger_active && heapledger_active()) {
    heapledger_scope work = heapledger_scope_create("work", 4, 0, NULL);
    heapledger_scope before = heapledger_scope_enter(work);
    keep(100);
    heapledger_scope_leave(before);
    heapledger_scope_usage(work, 0, &used);
  }
  printf("%lld\n", (long long)used.live_bytes);
  return 0;
}

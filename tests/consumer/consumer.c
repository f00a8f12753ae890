#include <heapledger/heapledger.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  heapledger_usage used = {0};
  void* volatile block = NULL;
  if (heapledger_scope_create) {
    heapledger_scope work = heapledger_scope_create("work", 4, 0, NULL);
    heapledger_scope before = heapledger_scope_enter(work);
    block = malloc(100);
    heapledger_scope_leave(before);
    heapledger_scope_usage(work, 0, &used);
    heapledger_scope_close(work);
  }
  printf("%lld\n", (long long)used.live_bytes);
  free(block);
  return 0;
}

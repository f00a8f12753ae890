// Blocks of three sites, of which each lives about twenty times as long as the next; the first until the end.
#include <stdlib.h>

__attribute__((noinline)) void* site_kept(void) {
  return malloc(300);
}
__attribute__((noinline)) void* site_slow(void) {
  return malloc(200);
}
__attribute__((noinline)) void* site_quick(void) {
  return malloc(100);
}

volatile unsigned long work;

int main(void) {
  void* kept = site_kept();
  for (int i = 0; i < 50; ++i) {
    void* slow = site_slow();
    for (int j = 0; j < 20; ++j) {
      void* quick = site_quick();
      for (int n = 0; n < 2000; ++n) work = work + 1;
      free(quick);
    }
    free(slow);
  }
  work = (unsigned long)kept;
  return 0;
}

// Stands for the probe where a program is attached to: has the two functions, and does in them what asks for a sound
// moment. `injected_told` writes what it was told into the file that HEAPLEDGER_SESSION names.
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile double sink;

static int use_everything(void) {
  for (size_t bytes = 1; bytes < 300000; bytes *= 3) {
    void* block = malloc(bytes);
    if (block == NULL) return 100;
    memset(block, 1, bytes);
    free(block);
  }
  for (int i = 0; i < 100; ++i) sink = sqrt((double)i) * 1.5;  // the vector registers are not what they were
  errno = EXDEV;
  return 0;
}

int heapledger_attach(const char* settings) {
  const char* at = strstr(settings, "HEAPLEDGER_SESSION=");
  char path[4096];
  if (at == NULL || sscanf(at, "HEAPLEDGER_SESSION=%4095[^\n]", path) != 1) return 2;
  const int failed = use_everything();
  const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) return 2;
  const size_t length = strlen(settings);
  const int written = write(fd, settings, length) == (ssize_t)length;
  close(fd);
  return failed != 0 ? failed : written ? 0 : 2;
}

int heapledger_detach(void) {
  return use_everything();
}

int injected_fault(const char* unused) {
  (void)unused;
  volatile int* nowhere = (volatile int*)8;
  asm("" : "+r"(nowhere));
  *nowhere = 1;
  return 0;
}

int injected_large(const char* text) {
  return (int)strlen(text);
}

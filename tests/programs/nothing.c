// Does nothing: what a run of it shows is not the program's doing. Built static, setuid and with AddressSanitizer too.
#include <stdlib.h>

int main(int argc, char** argv) {
  void* volatile block = malloc(argc > 1 ? (size_t)atoi(argv[1]) : 1);
  free(block);
  return argc > 2 ? atoi(argv[2]) : 0;
}

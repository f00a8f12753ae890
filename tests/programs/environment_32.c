// A 32-bit program without a C library, which needs nothing to be installed: writes its environment, and exits with 7.
// Where glibc's loader for such programs stood in its place, it would say of a 64-bit library in LD_PRELOAD what it is.
static int call(int number, int a, const void* b, unsigned c) {
  int result;
  __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
  return result;
}

static void put(const char* text) {
  unsigned bytes = 0;
  while (text[bytes] != 0) ++bytes;
  call(4, 1, text, bytes);
  call(4, 1, "\n", 1);
}

__attribute__((used)) static void begin(const char* const* stack) {
  const char* const* entry = stack + 1 + *(const int*)stack + 1;  // behind the arguments and their null
  while (*entry) put(*entry++);
  call(1, 7, 0, 0);
}

__asm__(".globl _start\n_start:\n  mov %esp, %eax\n  push %eax\n  call begin\n");

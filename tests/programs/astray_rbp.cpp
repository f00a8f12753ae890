// A thread that allocates while rbp points to the last word of its stack, as it may in code without frame pointers: the
// word next to it is no memory.
#include <pthread.h>
#include <sys/mman.h>

#include "books.hpp"

namespace {

constexpr std::size_t stack_bytes = 64 * 1024, page_bytes = 4096;
char* stack = nullptr;

void* allocate(void*) {
  const char* const last_word = stack + stack_bytes - 8;
  void* block = nullptr;
  asm volatile(
      "pushq %%rbp\n\t"
      "movq %%rsp, %%rbx\n\t"
      "andq $-16, %%rsp\n\t"
      "movq %1, %%rbp\n\t"
      "movl $100, %%edi\n\t"
      "call malloc@plt\n\t"
      "movq %%rbx, %%rsp\n\t"
      "popq %%rbp"
      : "=a"(block)
      : "r"(last_word)
      : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
  CHECK(block);
  free(block);
  return nullptr;
}

}  // namespace

int main() {
  stack = static_cast<char*>(
      mmap(nullptr, stack_bytes + page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(stack != MAP_FAILED && mprotect(stack + stack_bytes, page_bytes, PROT_NONE) == 0);
  pthread_attr_t attributes;
  pthread_t thread;
  CHECK(pthread_attr_init(&attributes) == 0 && pthread_attr_setstack(&attributes, stack, stack_bytes) == 0);
  CHECK(pthread_create(&thread, &attributes, allocate, nullptr) == 0 && pthread_join(thread, nullptr) == 0);
}

// A library with operators of its own, which nobody else can delete for. It deletes blocks of its own only.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

namespace {

alignas(16) char arena[1 << 20];
std::size_t used = 0, made = 0, deleted = 0;

void give_back(void* block) noexcept {
  const auto offset = static_cast<std::size_t>(static_cast<char*>(block) - arena);
  if (block != nullptr && offset >= sizeof arena) std::abort();
  deleted += block != nullptr;
}

}  // namespace

void* operator new(std::size_t bytes) {
  ++made;
  used += (bytes + 15) / 16 * 16;
  if (used > sizeof arena) std::abort();
  return arena + used - (bytes + 15) / 16 * 16;
}
void operator delete(void* block) noexcept {
  give_back(block);
}
void operator delete(void* block, std::size_t) noexcept {
  give_back(block);
}

extern "C" void use_it() {
  std::vector<std::string> texts;
  for (int i = 0; i < 100; ++i) texts.emplace_back(100, 'x');
  std::string grows;  // in code of the C++ library
  for (int i = 0; i < 1000; ++i) grows += texts[static_cast<std::size_t>(i) % 100].front();
  auto* const array = new int[10];
  delete[] array;
  std::printf("made %zu, deleted %zu\n", made, deleted);
}

// Its operators are those of a library that it is linked with: all that either makes is the library's.
#include <cstdio>
#include <memory>
#include <string>

extern "C" void use_it();

int main() {
  use_it();
  std::string ours(100, 'y');
  const auto other = std::make_unique<long>(3);
  std::printf("%zu %ld\n", ours.size(), *other);
  use_it();
}

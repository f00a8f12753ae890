// A library that is opened when a fifth of the time is over leaks.
#include "scenario.hpp"

#include <dlfcn.h>

#include <string>

int main(int, char** arguments) {
  std::string path = arguments[0];
  path = path.substr(0, path.rfind('/') + 1) + "leaks_plugin.so";
  void (*leak)() = nullptr;
  const unsigned long* bytes = nullptr;
  corpus::play(arguments, [&](unsigned long tick, double share) {
    if (share < 0.2) return;
    if (leak == nullptr) {
      void* const library = dlopen(path.c_str(), RTLD_NOW);
      if (library == nullptr) _exit(1);
      leak = reinterpret_cast<void (*)()>(dlsym(library, "leak_in_plugin"));
      bytes = static_cast<const unsigned long*>(dlsym(library, "lost_bytes"));
    }
    if (tick % 4 == 0) leak();
  });
  std::printf("lost leak_in_plugin %lu\n", *bytes);
  corpus::finish();
}

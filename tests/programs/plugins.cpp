// Loads and unloads plugins in a loop: plugins FOLDER ROUNDS. Blocks of a plugin are freed while it is loaded, after it
// was unloaded, or never. Prints how often the two plugins had their code at the same address.
#include <dlfcn.h>

#include <set>
#include <string>

#include "books.hpp"

int main(int argc, char** argv) {
  CHECK(argc == 3);
  std::string names[] = {std::string(argv[1]) + "/plugin_a.so", std::string(argv[1]) + "/plugin_b.so"};
  int rounds = std::atoi(argv[2]);
  std::set<void*> places[2];
  void* late = nullptr;
  for (int i = 0; i < rounds; ++i) {
    void* handle = dlopen(names[i % 2].c_str(), i % 4 < 2 ? RTLD_NOW : RTLD_LAZY);
    CHECK(handle);
    auto* work = reinterpret_cast<void* (*)(std::size_t)>(dlsym(handle, "plugin_work"));
    CHECK(work);
    places[i % 2].insert(reinterpret_cast<void*>(work));
    free(work(1000));
    free(late);
    late = work(10);
    test::escape(work(7));
    CHECK(!dlclose(handle));
  }
  free(late);
  int same = 0;
  for (void* place : places[0]) same += places[1].count(place) > 0;
  test::put(1, "%d rounds, %s\n", rounds, same ? "at the same address" : "never at the same address");
}

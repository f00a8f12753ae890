// A plugin that a child of fork unloads without having allocated in it: plugins_forked FOLDER. Another is loaded at its
// address, and works. Prints whether the address was the same.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "books.hpp"

using work_function = void*(std::size_t);

namespace {

void* load(const std::string& file, work_function*& work) {
  void* const handle = dlopen(file.c_str(), RTLD_NOW);
  CHECK(handle);
  work = reinterpret_cast<work_function*>(dlsym(handle, "plugin_work"));
  CHECK(work);
  return handle;
}

}  // namespace

int main(int argc, char** argv) {
  CHECK(argc == 2);
  const std::string folder = argv[1];
  work_function* work;
  void* const handle = load(folder + "/plugin_a.so", work);
  free(work(1000));
  const pid_t child = fork();
  if (child == 0) {
    CHECK(!dlclose(handle));
    work_function* other;
    load(folder + "/plugin_b.so", other);
    free(other(2000));
    test::put(1, "%s\n", other == work ? "at the same address" : "elsewhere");
    return 0;
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

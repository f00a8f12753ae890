// A program without libstdc++ to which the probe comes: attached_c PLUGIN ANOTHER. The plugins are in C++ and opened
// for themselves alone, the first before the probe comes, the second after. Prints what attaching answered.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

struct plugin {
  void* (*make)(size_t);
  void (*drop)(void*);
  void (*text)(size_t);
};

static struct plugin opened(const char* path) {
  void* handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (handle == NULL) exit(3);
  struct plugin result = {(void* (*)(size_t))dlsym(handle, "plugin_make"),
                          (void (*)(void*))dlsym(handle, "plugin_drop"),
                          (void (*)(size_t))dlsym(handle, "plugin_text")};
  return result;
}

static int call(const char* name, const char* with) {
  void* probe = dlopen(getenv("HEAPLEDGER_TEST_PROBE"), RTLD_NOW | RTLD_GLOBAL);
  if (probe == NULL) exit(4);
  int (*function)(const char*) = (int (*)(const char*))dlsym(probe, name);
  return function(with);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  struct plugin first = opened(arguments[1]);
  void* old = first.make(100);  // bound; the others are not
  printf("%d\n", call("heapledger_attach", getenv("HEAPLEDGER_TEST_SETTINGS")));
  struct plugin second = opened(arguments[2]);
  first.drop(old);
  for (int i = 0; i < 100; i++) {
    void* a = first.make(1000);
    void* b = second.make(1000);
    first.drop(b);
    second.drop(a);
    first.text(500);
    second.text(500);
  }
  void* kept = first.make(7);
  void* other = second.make(7);
  printf("%d\n", call("heapledger_detach", NULL));
  first.drop(other);
  second.drop(kept);
  first.text(500);
  second.text(500);
  return 0;
}

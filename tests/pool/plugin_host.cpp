// A program that shows its symbols to a plugin which hides its own: both have one registry of threads, and what the
// plugin did for it must not end with the plugin. Argument: the plugin.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <future>
#include <thread>

#include "heapledger/pool.hpp"

using namespace heapledger;

namespace {

int fails(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  return 1;
}

bool child_knows_its_thread_only() {
  const pid_t child = ::fork();
  if (child == 0) {
    const pool_detail::thread_arenas* const mine = pool_detail::first_thread;
    ::_exit(mine != nullptr && mine->arenas == pool_detail::arenas_of_thread && mine->next == nullptr ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fails("no plugin");
  void* plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) return fails(::dlerror());
  std::thread(reinterpret_cast<void (*)()>(::dlsym(plugin, "use_a_pool"))).join();
  ::dlclose(plugin);
  if (::dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != nullptr) return fails("the plugin stays, though its thread ended");

  pool<32, threading::thread_cached> pool;
  pool.deallocate(pool.allocate());
  plugin = ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  std::promise<void> used, done;
  std::thread other([&] {
    pool.deallocate(pool.allocate());
    reinterpret_cast<void (*)()>(::dlsym(plugin, "use_a_pool_that_stays"))();
    used.set_value();
    done.get_future().wait();
  });
  used.get_future().wait();
  ::dlclose(plugin);
  const bool forgot = child_knows_its_thread_only();
  done.set_value();
  other.join();  // leaves its arenas by the plugin's code
  return forgot ? 0 : fails("the child knows threads that it has not");
}

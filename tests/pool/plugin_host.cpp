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

int main(int argc, char** argv) {
  void* const plugin = argc > 1 ? ::dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (plugin == nullptr) return std::fprintf(stderr, "no plugin\n"), 2;
  reinterpret_cast<void (*)()>(::dlsym(plugin, "use_pools"))();
  ::dlclose(plugin);

  pool<32, threading::thread_cached> pool;
  pool.deallocate(pool.allocate());
  std::promise<void> used, done;
  std::thread other([&] {
    pool.deallocate(pool.allocate());
    used.set_value();
    done.get_future().wait();
  });
  used.get_future().wait();
  const pid_t child = ::fork();
  if (child == 0) {
    const pool_detail::thread_arenas* const mine = pool_detail::first_thread;
    ::_exit(mine != nullptr && mine->arenas == pool_detail::arenas_of_thread && mine->next == nullptr ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  done.set_value();
  other.join();
  if (status != 0) std::fprintf(stderr, "the child knows threads that it has not\n");
  return status == 0 ? 0 : 1;
}

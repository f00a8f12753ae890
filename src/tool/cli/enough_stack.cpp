#include "tool/cli/enough_stack.hpp"

#include <pthread.h>
#include <sys/resource.h>

#include <csignal>
#include <optional>
#include <system_error>
#include <thread>

namespace heapledger::cli {
namespace {

constexpr std::size_t enough_bytes = std::size_t{8} << 20;

bool has_enough() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= enough_bytes;
}

bool make_threads_large() {
  pthread_attr_t attributes;
  if (::pthread_attr_init(&attributes) != 0) return false;
  const bool done =
      ::pthread_attr_setstacksize(&attributes, enough_bytes) == 0 && ::pthread_setattr_default_np(&attributes) == 0;
  ::pthread_attr_destroy(&attributes);
  return done;
}

}  // namespace

int with_enough_stack(const std::function<int()>& work) {
  if (has_enough() || !make_threads_large()) return work();
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<int> result;
  try {
    std::thread([&] {
      ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
      result = work();
    }).join();
  } catch (const std::system_error&) {  // there is no thread to be had
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result ? *result : work();
}

}  // namespace heapledger::cli

#include "tool/symbolize/cut_off_guard.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>

namespace heapledger::symbols {
namespace {

constinit thread_local volatile std::sig_atomic_t guards = 0;
constinit thread_local volatile std::sig_atomic_t zero_pages = 0;
struct sigaction before {};
std::uintptr_t page_bytes = 4096;

// A page of zeros that can only be read: a store, or code that would run there, still ends the tool.
void give_zeros(int, siginfo_t* info, void*) {
  const int error = errno;
  auto* page = reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(info->si_addr) & ~(page_bytes - 1));
  if (guards != 0 && info->si_code == BUS_ADRERR &&
      ::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
    zero_pages = 1;
  } else {
    ::sigaction(SIGBUS, &before, nullptr);  // what raised it does so again
  }
  errno = error;
}

bool install() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction action {};
  action.sa_sigaction = give_zeros;
  action.sa_flags = SA_SIGINFO;
  return ::sigaction(SIGBUS, &action, &before) == 0;
}

}  // namespace

cut_off_guard::cut_off_guard() {
  static const bool installed = install();
  static_cast<void>(installed);
  guards = guards + 1;
  // One that is blocked ends the process all the same.
  sigset_t bus;
  ::sigemptyset(&bus);
  ::sigaddset(&bus, SIGBUS);
  ::pthread_sigmask(SIG_UNBLOCK, &bus, nullptr);
}

cut_off_guard::~cut_off_guard() {
  guards = guards - 1;
  if (guards == 0) zero_pages = 0;
}

bool file_was_cut_off() {
  return zero_pages != 0;
}

}  // namespace heapledger::symbols

#include "probe/hook/environment_room.hpp"

#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/thread_books.hpp"

namespace heapledger::probe {
namespace {

constexpr std::size_t little_bytes = 2048;

struct room {
  void* start;
  std::size_t bytes;
  int user;  // the process that builds an environment in it; 0: nobody
};
constinit thread_local room of_thread = {};

// Those who come here are the thread and its children by vfork, one at a time. Of the children most are gone, to what
// they executed; but a signal handler may have interrupted this very process, or the one that waits for it.
bool is_in_use() {
  const int user = of_thread.user;
  return user != 0 && (user == sys::getpid() || user == sys::getppid());
}

bool provide(std::size_t bytes) {
  if (bytes <= of_thread.bytes) return true;
  constexpr std::size_t page = 4096;
  bytes = (bytes + page - 1) & ~(page - 1);
  void* const start = hears_of_thread_end() ? own_map(bytes) : nullptr;
  if (start == nullptr) return false;
  give_back_environment_room();
  of_thread = {start, bytes, 0};
  return true;
}

}  // namespace

void* environment_room::take(std::size_t bytes) {
  if (bytes <= little_bytes || is_in_use() || !provide(bytes)) return nullptr;
  taken_ = true;
  of_thread.user = sys::getpid();
  return of_thread.start;
}

environment_room::~environment_room() {
  if (taken_) of_thread.user = 0;
}

void give_back_environment_room() {
  if (of_thread.start != nullptr) own_unmap(of_thread.start, of_thread.bytes);
  of_thread = {};
}

}  // namespace heapledger::probe

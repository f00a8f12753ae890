#include "probe/hook/environment_room.hpp"

#include <new>

#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/thread_books.hpp"

namespace heapledger::probe {
namespace {

constexpr std::size_t little_bytes = 2048;

// In front of it lies this, so that a thread has one word for it: there are few for libraries that are loaded late.
struct alignas(16) room {
  std::size_t bytes;  // with this
  int user;           // the process that builds an environment in it; 0: nobody
};
constinit thread_local room* of_thread = nullptr;

// Those who come here are the thread and its children by vfork, one at a time. Of the children most are gone, to what
// they executed; but a signal handler may have interrupted this very process, or the one that waits for it.
bool is_in_use() {
  const int user = of_thread != nullptr ? of_thread->user : 0;
  return user != 0 && (user == sys::getpid() || user == sys::getppid());
}

bool provide(std::size_t bytes) {
  bytes += sizeof(room);
  if (of_thread != nullptr && bytes <= of_thread->bytes) return true;
  constexpr std::size_t page = 4096;
  bytes = (bytes + page - 1) & ~(page - 1);
  void* const start = hears_of_thread_end() ? own_map(bytes) : nullptr;
  if (start == nullptr) return false;
  give_back_environment_room();
  of_thread = new (start) room{bytes, 0};
  return true;
}

}  // namespace

void* environment_room::take(std::size_t bytes) {
  if (bytes <= little_bytes || is_in_use() || !provide(bytes)) return nullptr;
  taken_ = true;
  of_thread->user = sys::getpid();
  return of_thread + 1;
}

environment_room::~environment_room() {
  if (taken_) of_thread->user = 0;
}

void give_back_environment_room() {
  if (of_thread != nullptr) own_unmap(of_thread, of_thread->bytes);
  of_thread = nullptr;
}

}  // namespace heapledger::probe

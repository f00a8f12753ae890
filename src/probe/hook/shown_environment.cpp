#include "probe/hook/shown_environment.hpp"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/hook/environment.hpp"

namespace heapledger::probe {
namespace {

constinit std::uint32_t lock = 0;
constinit thread_local bool locked_here = false;
constinit unsigned calls = 0;  // under way
constinit bool showing = false;
constinit char** program = nullptr;  // what `environ` was before
constinit char* program_preload = nullptr;
constinit char** shown = nullptr;
constinit std::size_t shown_capacity = 0;
constinit char* preload = nullptr;  // the entry's text; another one where the program's own libraries change

constexpr std::uint64_t bit(int signal) {
  return std::uint64_t{1} << (signal - 1);
}
// A blocked one of these would end the program instead of running its handler.
constexpr std::uint64_t faults =
    bit(SIGSEGV) | bit(SIGBUS) | bit(SIGILL) | bit(SIGFPE) | bit(SIGTRAP) | bit(SIGSYS) | bit(SIGABRT);

bool provide(const child_environment& child) {
  if (preload == nullptr || !child.is_preload(preload)) {
    void* text = own_map(child.preload_bytes());
    if (text == nullptr) return false;
    preload = static_cast<char*>(text);
    child.write_preload(preload);
  }
  if (child.pointers() <= shown_capacity) return true;
  constexpr std::size_t page = 4096 / sizeof(char*);
  const std::size_t capacity = (child.pointers() + page - 1) / page * page;
  void* room = own_map(capacity * sizeof(char*));
  if (room == nullptr) return false;
  shown = static_cast<char**>(room);
  shown_capacity = capacity;
  return true;
}

// A program that noted the shown array may name it later: it is its own then.
bool is_shown() {
  return showing && environ == shown;
}

void show() {
  if (is_shown()) return;
  const child_environment child(environ);
  if (child.bytes() == 0 || !provide(child)) return;
  program = environ;
  program_preload = child.program_preload();
  // In place: who reads it meanwhile finds the program's entries where they were.
  const std::size_t end = child.build(shown, preload);
  for (std::size_t i = end + 1; i < shown_capacity && shown[i] != nullptr; ++i) shown[i] = nullptr;
  showing = true;
  __atomic_store_n(&environ, shown, __ATOMIC_RELEASE);
}

// Out of an array that the program made of the shown one, without setenv and its like.
void take_out(char** entries) {
  char** kept = entries;
  for (; *entries != nullptr; ++entries) {
    char* entry = *entries == preload ? program_preload : *entries;
    if (entry == nullptr || child_environment::added(entry)) continue;
    if (*kept != entry) *kept = entry;
    ++kept;
  }
  while (kept != entries) *--entries = nullptr;
}

void hide() {
  if (is_shown())
    __atomic_store_n(&environ, program, __ATOMIC_RELEASE);
  else if (showing && environ != nullptr)
    take_out(environ);
  showing = false;
}

}  // namespace

environment_lock::environment_lock() : nested_(locked_here) {
  if (nested_) return;
  const std::uint64_t blocked = ~faults;
  sys::call(__NR_rt_sigprocmask, SIG_BLOCK, sys::word(&blocked), sys::word(&signals_before_), 8);
  lock_word(lock);
  locked_here = true;
}

environment_lock::~environment_lock() {
  if (nested_) return;
  locked_here = false;
  unlock_word(lock);
  sys::call(__NR_rt_sigprocmask, SIG_SETMASK, sys::word(&signals_before_), 0, 8);
}

char** program_environment() {
  return is_shown() ? program : environ;
}

shown_environment::shown_environment() {
  const environment_lock held;
  if (held.nested()) return;
  counted_ = true;
  ++calls;
  show();
}

// Not to be counted any more if the call went on in a child.
shown_environment::~shown_environment() {
  if (!counted_) return;
  const environment_lock held;
  if (calls != 0 && --calls == 0) hide();
}

changed_environment::changed_environment() {
  if (!lock_.nested() && calls != 0) hide();
}

changed_environment::~changed_environment() {
  if (!lock_.nested() && calls != 0) show();
}

void start_shown_environment() {
  pthread_atfork(nullptr, nullptr, forget_shown_environment);
}

void forget_shown_environment() {
  if (!locked_here) lock = 0;
  calls = 0;  // also where the last of them was just about to hide it
  hide();
}

}  // namespace heapledger::probe

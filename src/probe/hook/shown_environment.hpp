// libc's popen takes the child's environment from `environ`, where other threads look too. So while a call runs,
// `environ` is an array of ours with the child's variables, and the program's own otherwise. Nothing that was ever in
// it is unmapped: a thread may be reading it at any later time.
#pragma once

#include <cstdint>

namespace heapledger::probe {

// Alone with the environment, whatever `environ` is now. Without effect where the thread is so already: in the handler
// of a signal that the program raised with what it passed to setenv.
class environment_lock {
 public:
  environment_lock();
  ~environment_lock();
  environment_lock(const environment_lock&) = delete;
  environment_lock& operator=(const environment_lock&) = delete;

  bool nested() const { return nested_; }

 private:
  const bool nested_;
  std::uint64_t signals_before_ = 0;
};

// The program's own, with the lock held.
char** program_environment();

// Shown for as long as this lives, or another of them.
class shown_environment {
 public:
  shown_environment();
  ~shown_environment();
  shown_environment(const shown_environment&) = delete;
  shown_environment& operator=(const shown_environment&) = delete;

 private:
  bool counted_ = false;
};

// `environ` is the program's own for as long as this lives; what becomes of it is shown again if need be.
class changed_environment {
 public:
  changed_environment();
  ~changed_environment();
  changed_environment(const changed_environment&) = delete;
  changed_environment& operator=(const changed_environment&) = delete;

 private:
  const environment_lock lock_;
};

// Has forked children begin with the program's own.
void start_shown_environment();
void forget_shown_environment();  // in the child: the threads that it was shown to are not here

}  // namespace heapledger::probe

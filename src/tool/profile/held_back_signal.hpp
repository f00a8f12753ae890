// A signal that a write raises, besides failing, and that would end the process: SIGXFSZ past RLIMIT_FSIZE, SIGPIPE.
// While one of these lives, this thread is spared it, and the write only fails.
#pragma once

#include <csignal>
#include <ctime>

namespace heapledger {

class held_back_signal {
 public:
  explicit held_back_signal(int signal) {
    sigemptyset(&set_);
    sigaddset(&set_, signal);
    pthread_sigmask(SIG_BLOCK, &set_, &before_);
    was_held_ = sigismember(&before_, signal) == 1;
  }
  ~held_back_signal() {
    const timespec at_once{};
    if (!was_held_) sigtimedwait(&set_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  held_back_signal(const held_back_signal&) = delete;
  held_back_signal& operator=(const held_back_signal&) = delete;

 private:
  sigset_t set_{};
  sigset_t before_{};
  bool was_held_ = false;
};

}  // namespace heapledger

// Starts the program so that it finds everything as it would without us: descriptors, directory, process group,
// terminal, signal dispositions and signal mask. And waits for it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

class launch_error : public std::runtime_error {
 public:
  launch_error(int exit_status, const std::string& message) : std::runtime_error(message), exit_status_(exit_status) {}
  int exit_status() const { return exit_status_; }  // 127 not found, 126 not executable, 125 our own failure

 private:
  int exit_status_;
};

// From construction to `release`, this process's signals are held: those that ask a program to end or do something are
// read from `fd` and, when a process sent them to us, passed on; those that a terminal sends reach the program anyway.
class held_signals {
 public:
  held_signals();
  ~held_signals() { release(); }
  held_signals(const held_signals&) = delete;
  held_signals& operator=(const held_signals&) = delete;

  int fd() const { return fd_.get(); }
  void pass_on(pid_t program);             // reads all that came
  bool were_to_end_us();                   // likewise: whether one asks us to end that was not ignored, as by nohup
  int wish_to_end() const;                 // reads nothing: the first of those that asks us to end; 0: none came
  void restore_in_child() const noexcept;  // async-signal-safe
  void release();                          // what came from a terminal meanwhile is forgotten

 private:
  struct state;
  unique_fd fd_;
  state* before_;
};

// `environment` replaces ours. Throws launch_error; then nothing runs.
pid_t launch(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             const held_signals& signals);

// The status if the program has ended (see waitpid).
std::optional<int> try_wait(pid_t program);

int exit_status_of(int wait_status);  // the program's own; 128+n for signal n

}  // namespace heapledger::collect

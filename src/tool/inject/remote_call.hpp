// Calls of functions in a held thread, on a stack of their own: the thread's may be small, a fiber's, or full. No code
// of the program is changed, no signal is used, and none reaches it meanwhile: a function returns to a system call
// instruction of libc's, where the kernel stops the thread for us.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "tool/inject/held_thread.hpp"

namespace heapledger::inject {

// The call did not come back. The thread is as it was before, as far as that can be.
class call_failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class remote_calls {
 public:
  // `thread` is stopped at a safe point. `gate` is the address of a system call instruction in libc: from there, the
  // loader takes libc for its caller. Throws call_failure.
  remote_calls(pid_t pid, held_thread& thread, std::uint64_t gate, std::size_t text_bytes);
  ~remote_calls();  // restores everything
  remote_calls(const remote_calls&) = delete;
  remote_calls& operator=(const remote_calls&) = delete;

  // Where the process sees it. There is room for `text_bytes` in all.
  std::uint64_t place(const std::string& text);
  std::uint64_t call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments);

 private:
  std::uint64_t system_call(std::uint64_t number, std::initializer_list<std::uint64_t> arguments);
  user_regs_struct prepared(std::uint64_t at, std::initializer_list<std::uint64_t> arguments) const;
  void run_to_entry(bool of_gate);
  void await_system_call();
  void save();
  void restore();
  void give_back_signals();

  pid_t pid_;
  held_thread& thread_;
  std::uint64_t gate_;
  user_regs_struct before_{};
  std::vector<char> vector_state_;
  std::uint64_t mask_ = 0;
  std::uint64_t area_ = 0;
  std::uint64_t area_bytes_ = 0;
  std::uint64_t stack_top_ = 0;
  std::uint64_t text_at_ = 0;
  bool is_saved_ = false;
  bool is_lost_ = false;        // a call did not come back: its frames may still be needed
  std::vector<int> held_back_;  // signals that came and cannot be blocked
};

}  // namespace heapledger::inject

// Calls of functions in a held thread, on a stack of their own: the thread's may be small, a fiber's, or full. No code
// of the program is changed, no signal is used, and none reaches it meanwhile: a function returns to system call
// instructions of libc's, where the kernel stops the thread for us.
//
// At each moment the thread is on a way that ends where it was before. If we are killed, the kernel lets it go, and it
// goes that way alone (return_path.hpp).
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <vector>

#include "tool/inject/held_thread.hpp"
#include "tool/inject/return_path.hpp"
#include "tool/inject/spare_place.hpp"
#include "tool/inject/target.hpp"

namespace heapledger::inject {

// The call did not come back. The thread is as it was before, as far as that can be, or has ended.
class call_failure : public std::runtime_error {
 public:
  explicit call_failure(const std::string& what, bool goes_on = true) : std::runtime_error(what), goes_on_(goes_on) {}
  bool goes_on() const { return goes_on_; }

 private:
  bool goes_on_;
};

class remote_calls {
 public:
  // `thread` is stopped at a safe point. Throws call_failure.
  remote_calls(const target& in, held_thread& thread, const std::vector<spare_place>& places, std::size_t text_bytes);
  ~remote_calls();  // restores everything
  remote_calls(const remote_calls&) = delete;
  remote_calls& operator=(const remote_calls&) = delete;

  // Where the process sees it. There is room for `text_bytes` in all.
  std::uint64_t place(const std::string& text);
  std::uint64_t call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments);
  // The calls will change this, and it is to be put back if the thread goes its way alone. Otherwise it is the
  // caller's.
  void put_back_alone(std::uint64_t address, std::int32_t value);

 private:
  std::uint64_t system_call(std::uint64_t number, std::initializer_list<std::uint64_t> arguments);
  user_regs_struct prepared(std::uint64_t at, std::initializer_list<std::uint64_t> arguments) const;
  user_regs_struct change_of_stack() const;
  void run_to_entry(std::uint64_t after, std::uint64_t stack);
  void await_system_call();
  void hold();
  void restore();
  void give_back_signals();

  pid_t pid_;
  libc_code code_;
  held_thread& thread_;
  thread_state before_;
  thread_state goes_on_;  // the same, as it is without the kernel's help
  borrowed_place place_;  // of the way back while there is no memory of ours
  return_path path_;
  std::uint64_t area_ = 0;
  std::uint64_t area_bytes_ = 0;
  std::uint64_t text_at_ = 0;
  bool is_held_ = false;
  bool is_lost_ = false;        // a call did not come back: its frames may still be needed
  std::vector<int> held_back_;  // signals that came and cannot be blocked
};

}  // namespace heapledger::inject

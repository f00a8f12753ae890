// One thread of another process, stopped for as long as this lives, by ptrace. The others run on: they may hold what a
// call in this one needs. Not its signals, not its system call and not its registers are lost: whatever is changed is
// the caller's to restore.
//
// All of it must happen in one thread of ours. If that thread ends, or is killed, the kernel lets the other one go.
#pragma once

#include <sys/types.h>
#include <sys/user.h>

#include <cstdint>
#include <vector>

namespace heapledger::inject {

enum class seized { stopped, gone, refused, busy, group_stop };  // busy: it does not stop, for a disk or a vfork

struct trace_stop {
  enum class kind { system_call, event, group_stop, signal, gone, none };  // none: nothing in time
  kind what = kind::none;
  int signal = 0;
};

class held_thread {
 public:
  explicit held_thread(pid_t tid) : tid_(tid) {}
  ~held_thread();
  held_thread(const held_thread&) = delete;
  held_thread& operator=(const held_thread&) = delete;

  pid_t tid() const { return tid_; }
  // Stops it where it would next run in user mode. `error`: errno where it is refused. One that was busy may be asked
  // for again, and must be kept until then: it stops when it can, and is let go when this thread of ours ends at the
  // latest.
  seized seize(int& error);

  bool read(user_regs_struct& registers) const;
  bool write(const user_regs_struct& registers) const;

  // Lets it run on to the next entry into, or exit from, a system call; or to the next stop at all.
  bool run_to_system_call(int signal = 0) const;
  bool run(int signal = 0) const;
  void interrupt() const;
  trace_stop await(std::uint64_t longest_ns) const;
  bool is_at_entry() const;  // of a system call, not at its exit

  std::uint64_t stopped_ns() const;  // for how long by now

  void forget() { is_seized_ = false; }  // it has ended

 private:
  pid_t tid_;
  bool is_seized_ = false;
  bool is_stopped_ = false;
  std::uint64_t since_ns_ = 0;
};

}  // namespace heapledger::inject

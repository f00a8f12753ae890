#include "tool/inject/remote_call.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "tool/collect/process.hpp"
#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

constexpr std::uint64_t stack_bytes = 1 << 20;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t longest_call_ns = 20'000'000'000;
constexpr std::uint64_t syscall_bytes = 2;                                              // of the instruction
constexpr std::uint64_t direction_trap_and_others = 0x400 | 0x100 | 0x10000 | 0x40000;  // DF, TF, RF, AC
constexpr std::size_t most_vector_state = 1 << 16;

// A fault of a blocked one would end the program, or take its handler away.
constexpr std::array faults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

std::uint64_t all_but_faults() {
  std::uint64_t mask = ~std::uint64_t{0};
  for (const int signal : faults) mask &= ~(std::uint64_t{1} << (signal - 1));
  return mask;
}

}  // namespace

remote_calls::remote_calls(pid_t pid, held_thread& thread, std::uint64_t gate, std::size_t text_bytes)
    : pid_(pid), thread_(thread), gate_(gate) {
  save();
  try {
    area_bytes_ = stack_bytes + (text_bytes + page_bytes - 1) / page_bytes * page_bytes;
    const auto got =
        system_call(SYS_mmap, {0, area_bytes_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, ~std::uint64_t{0}, 0});
    if (got > static_cast<std::uint64_t>(-4096))
      throw call_failure(fmt::format("it gets no memory for the call: {}", std::strerror(static_cast<int>(-got))));
    area_ = got;
  } catch (...) {
    restore();
    throw;
  }
  text_at_ = area_ + stack_bytes;
  stack_top_ = text_at_ - 256;
}

remote_calls::~remote_calls() {
  restore();
}

void remote_calls::save() {
  vector_state_.resize(most_vector_state);
  iovec state{vector_state_.data(), vector_state_.size()};
  if (!thread_.read(before_) || ::ptrace(PTRACE_GETREGSET, thread_.tid(), NT_X86_XSTATE, &state) != 0 ||
      ::ptrace(PTRACE_GETSIGMASK, thread_.tid(), sizeof mask_, &mask_) != 0)
    throw call_failure(fmt::format("its registers cannot be read: {}", std::strerror(errno)));
  vector_state_.resize(state.iov_len);
  auto blocked = all_but_faults();
  if (::ptrace(PTRACE_SETSIGMASK, thread_.tid(), sizeof blocked, &blocked) != 0)
    throw call_failure(fmt::format("its signals cannot be blocked: {}", std::strerror(errno)));
  is_saved_ = true;
}

// In a stop for a signal or of our asking, and in no other, the kernel looks afterwards whether a system call is to go
// on.
void remote_calls::restore() {
  if (!is_saved_) return;
  is_saved_ = false;
  if (area_ != 0 && !is_lost_) {
    try {
      system_call(SYS_munmap, {area_, area_bytes_});
    } catch (const call_failure&) {  // it is going to end, or what can be restored is
    }
  }
  thread_.interrupt();
  thread_.run();
  auto stop = thread_.await(longest_call_ns);
  while (stop.what == trace_stop::kind::signal || stop.what == trace_stop::kind::system_call ||
         stop.what == trace_stop::kind::group_stop) {
    if (stop.what == trace_stop::kind::signal) held_back_.push_back(stop.signal);
    if (stop.what == trace_stop::kind::group_stop) thread_.interrupt();
    thread_.run();
    stop = thread_.await(longest_call_ns);
  }
  if (stop.what == trace_stop::kind::gone) {
    thread_.forget();
    return;
  }
  iovec state{vector_state_.data(), vector_state_.size()};
  ::ptrace(PTRACE_SETREGSET, thread_.tid(), NT_X86_XSTATE, &state);
  thread_.write(before_);
  ::ptrace(PTRACE_SETSIGMASK, thread_.tid(), sizeof mask_, &mask_);
  give_back_signals();
}

void remote_calls::give_back_signals() {
  for (const int signal : held_back_) ::syscall(SYS_tgkill, pid_, thread_.tid(), signal);
  held_back_.clear();
}

std::uint64_t remote_calls::place(const std::string& text) {
  const auto at = text_at_;
  if (at + text.size() + 1 > area_ + area_bytes_ || !write_memory(pid_, at, text.c_str(), text.size() + 1))
    throw call_failure("its memory cannot be written");
  text_at_ += text.size() + 1;
  return at;
}

user_regs_struct remote_calls::prepared(std::uint64_t at, std::initializer_list<std::uint64_t> arguments) const {
  auto registers = before_;
  std::array<std::uint64_t, 6> values{};
  std::size_t count = 0;
  for (const auto value : arguments) values.at(count++) = value;
  registers.rip = at;
  registers.rdi = values[0];
  registers.rsi = values[1];
  registers.rdx = values[2];
  registers.rcx = registers.r10 = values[3];  // functions and the kernel differ
  registers.r8 = values[4];
  registers.r9 = values[5];
  registers.orig_rax = ~std::uint64_t{0};
  registers.eflags &= ~direction_trap_and_others;
  return registers;
}

// Signals that cannot be blocked, or are faults when they are not sent: kept for afterwards, or the end of the call.
void remote_calls::await_system_call() {
  const auto deadline_ns = collect::monotonic_ns() + longest_call_ns;
  for (;;) {
    const auto now_ns = collect::monotonic_ns();
    const auto stop = thread_.await(now_ns >= deadline_ns ? 0 : deadline_ns - now_ns);
    switch (stop.what) {
      case trace_stop::kind::system_call:
        return;
      case trace_stop::kind::gone:
        thread_.forget();
        is_saved_ = false;
        throw call_failure("it ended meanwhile");
      case trace_stop::kind::none:
        is_lost_ = true;
        throw call_failure(fmt::format("the call did not come back within {} s: it waits for another thread",
                                       longest_call_ns / 1'000'000'000));
      case trace_stop::kind::signal: {
        siginfo_t info{};
        ::ptrace(PTRACE_GETSIGINFO, thread_.tid(), nullptr, &info);
        if (info.si_code > 0) {
          is_lost_ = true;
          throw call_failure(fmt::format("the call ended in {}", ::strsignal(stop.signal)));
        }
        held_back_.push_back(stop.signal);
        break;
      }
      case trace_stop::kind::event:
      case trace_stop::kind::group_stop:
        break;
    }
    thread_.run_to_system_call();
  }
}

void remote_calls::run_to_entry(bool of_gate) {
  for (;;) {
    thread_.run_to_system_call();
    await_system_call();
    user_regs_struct now{};
    if (!thread_.is_at_entry() || !thread_.read(now)) continue;
    if (now.rip == gate_ + syscall_bytes && (!of_gate || now.rsp == stack_top_)) return;
  }
}

std::uint64_t remote_calls::system_call(std::uint64_t number, std::initializer_list<std::uint64_t> arguments) {
  auto registers = prepared(gate_, arguments);
  registers.rax = number;
  thread_.write(registers);
  run_to_entry(false);
  thread_.run_to_system_call();
  await_system_call();
  thread_.read(registers);
  return registers.rax;
}

// The number of the system call that the return runs into is what the function returned. It becomes a close(-1), which
// changes nothing, and which no filter of system calls forbids: the loader has just closed a file.
std::uint64_t remote_calls::call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments) {
  auto registers = prepared(function, arguments);
  registers.rax = 0;
  registers.rsp = stack_top_ - 8;
  if (!write_memory(pid_, registers.rsp, &gate_, sizeof gate_) || !thread_.write(registers))
    throw call_failure("its memory cannot be written");
  run_to_entry(true);
  thread_.read(registers);
  const auto result = registers.orig_rax;
  registers.orig_rax = SYS_close;
  registers.rdi = ~std::uint64_t{0};
  thread_.write(registers);
  thread_.run_to_system_call();
  await_system_call();
  return result;
}

}  // namespace heapledger::inject

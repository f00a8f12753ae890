#include "tool/inject/remote_call.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "tool/collect/process.hpp"
#include "tool/inject/interrupted_call.hpp"
#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

constexpr std::uint64_t stack_bytes = 1 << 20;
constexpr std::uint64_t longest_call_ns = 20'000'000'000;
constexpr std::uint64_t direction_trap_and_others = 0x400 | 0x100 | 0x10000 | 0x40000;  // DF, TF, RF, AC

// A fault of a blocked one would end the program, or take its handler away.
constexpr std::array faults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

std::uint64_t all_but_faults() {
  std::uint64_t mask = ~std::uint64_t{0};
  for (const int signal : faults) mask &= ~(std::uint64_t{1} << (signal - 1));
  return mask;
}

std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

thread_state state_of(const held_thread& thread) {
  auto state = read_state(thread);
  if (!state) throw call_failure(fmt::format("its registers cannot be read: {}", std::strerror(errno)));
  return std::move(*state);
}

thread_state as_it_goes_on(pid_t pid, const thread_state& before) {
  auto state = before;
  state.registers = made_anew(pid, before.registers);
  return state;
}

}  // namespace

remote_calls::remote_calls(const target& in, held_thread& thread, const std::vector<spare_place>& places,
                           std::size_t text_bytes)
    : pid_(in.pid),
      code_(in.code),
      thread_(thread),
      before_(state_of(thread)),
      goes_on_(as_it_goes_on(in.pid, before_)),
      place_(pid_, thread.tid(), code_.change_stack != 0 ? places : std::vector<spare_place>(),
             short_return_path::bytes(goes_on_)) {
  hold();
  try {
    const auto path_bytes = whole_pages(return_path::bytes(goes_on_));
    area_bytes_ = stack_bytes + path_bytes + whole_pages(text_bytes);
    const auto got =
        system_call(SYS_mmap, {0, area_bytes_, PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, ~std::uint64_t{0}, 0});
    if (got > static_cast<std::uint64_t>(-4096))
      throw call_failure(fmt::format("it gets no memory for the call: {}", std::strerror(static_cast<int>(-got))));
    area_ = got;
    path_ = return_path(code_, goes_on_, all_but_faults(), area_ + stack_bytes);
    const auto path = path_.content();
    if (!write_memory(pid_, area_ + stack_bytes, path.data(), path.size()))
      throw call_failure("its memory cannot be written");
    text_at_ = area_ + stack_bytes + path_bytes;
  } catch (...) {
    restore();
    throw;
  }
}

remote_calls::~remote_calls() {
  restore();
}

// First the registers, then the signals: should we end in between, the thread lets them come again by itself. Until it
// changes the stack, a handler has the one that it expects.
void remote_calls::hold() {
  if (place_.address() != 0) place_.write(short_return_path::content(code_, goes_on_, place_.address()));
  if (place_.address() != 0 && !thread_.write(change_of_stack())) throw call_failure("its registers cannot be written");
  is_held_ = true;
  if (!write_mask(thread_, all_but_faults())) {
    restore();
    throw call_failure(fmt::format("its signals cannot be blocked: {}", std::strerror(errno)));
  }
}

user_regs_struct remote_calls::change_of_stack() const {
  auto registers = prepared(code_.change_stack, {});
  registers.rbp = short_return_path::frame_pointer(place_.address());
  return registers;
}

// In a stop for a signal or of our asking, and in no other, the kernel looks afterwards whether a system call is to go
// on.
void remote_calls::restore() {
  if (!is_held_) return;
  is_held_ = false;
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
  if (stop.what == trace_stop::kind::none) {  // it does not run: once it does, it goes its way alone
    place_.leave();
    give_back_signals();
    return;
  }
  if (stop.what == trace_stop::kind::gone) {
    thread_.forget();
    return;
  }
  write_vectors(thread_, before_);
  if (place_.address() != 0) thread_.write(change_of_stack());
  write_mask(thread_, before_.mask);
  thread_.write(before_.registers);
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
  auto registers = before_.registers;
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
        is_held_ = false;
        throw call_failure("it ended meanwhile", false);
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

// To a system call, and not one that a function makes: by the address after it, and by the stack.
void remote_calls::run_to_entry(std::uint64_t after, std::uint64_t stack) {
  for (;;) {
    thread_.run_to_system_call();
    await_system_call();
    user_regs_struct now{};
    if (thread_.is_at_entry() && thread_.read(now) && now.rip == after && now.rsp == stack) return;
  }
}

std::uint64_t remote_calls::system_call(std::uint64_t number, std::initializer_list<std::uint64_t> arguments) {
  auto registers = prepared(code_.gate, arguments);
  registers.rax = number;
  if (place_.address() != 0) registers.rsp = short_return_path::stack(place_.address());
  thread_.write(registers);
  run_to_entry(code_.gate + gate_bytes, registers.rsp);
  thread_.run_to_system_call();
  await_system_call();
  thread_.read(registers);
  return registers.rax;
}

// The system call that the return runs into would take the frame up. It becomes a close(-1), which changes nothing, and
// which no filter of system calls forbids: the loader has just closed a file. After it, the thread would make it again.
std::uint64_t remote_calls::call(std::uint64_t function, std::initializer_list<std::uint64_t> arguments) {
  auto registers = prepared(function, arguments);
  const auto words = path_.first_words();
  registers.rax = 0;
  registers.rsp = path_.stack();
  if (!write_memory(pid_, registers.rsp, words.data(), sizeof words) || !thread_.write(registers))
    throw call_failure("its memory cannot be written");
  run_to_entry(code_.end_of_handler + end_of_handler_bytes, path_.end());
  std::uint64_t result = 0;
  thread_.read(registers);
  registers.rip = code_.end_of_handler;
  registers.orig_rax = SYS_close;
  registers.rdi = ~std::uint64_t{0};
  if (!read_memory(pid_, path_.result_at(), &result, sizeof result) || !thread_.write(registers))
    throw call_failure("its memory cannot be read");
  thread_.run_to_system_call();
  await_system_call();
  return result;
}

// The value before the function that writes it.
void remote_calls::put_back_alone(std::uint64_t address, std::int32_t value) {
  path_.put_back(address, value);
  const auto bytes = path_.bytes_of_value();
  const auto path = path_.content();
  if (!write_memory(pid_, path_.value_at(), &bytes, sizeof bytes) ||
      !write_memory(pid_, area_ + stack_bytes, path.data(), path.size()))
    throw call_failure("its memory cannot be written");
}

}  // namespace heapledger::inject

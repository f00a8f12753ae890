#include "tool/inject/interrupted_call.hpp"

#include <sys/socket.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <optional>

#include "tool/inject/call_number.hpp"
#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

constexpr std::uint64_t restart_no_handler = static_cast<std::uint64_t>(-514);  // -ERESTARTNOHAND, the kernel's own

constexpr std::array began_again_by_kernel = {SYS_nanosleep, SYS_clock_nanosleep, SYS_poll, SYS_futex};

constexpr std::array ended_by_a_stop = {
    SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2, SYS_rt_sigtimedwait, SYS_semop,           SYS_semtimedop,
    SYS_recvfrom,   SYS_recvmsg,     SYS_recvmmsg,     SYS_accept,          SYS_accept4,         SYS_sendto,
    SYS_sendmsg,    SYS_sendmmsg,    SYS_connect,      SYS_io_getevents,    SYS_msgrcv,          SYS_msgsnd,
    SYS_read,       SYS_readv,       SYS_write,        SYS_writev,          SYS_mq_timedreceive, SYS_mq_timedsend};

constexpr std::array in_parts = {SYS_write,  SYS_writev,   SYS_pwrite64,       SYS_pwritev,  SYS_pwritev2,
                                 SYS_sendto, SYS_sendmsg,  SYS_sendmmsg,       SYS_sendfile, SYS_splice,
                                 SYS_tee,    SYS_vmsplice, SYS_copy_file_range};

// "7 0x7ffe 0x1 0xffffffff ..."; "running"; "-1 ..." where it does not run for another reason.
std::optional<std::uint64_t> word_of(std::string_view text, unsigned index) {
  for (; index > 0; --index) {
    const auto space = text.find(' ');
    if (space == std::string_view::npos) return {};
    text.remove_prefix(space + 1);
  }
  const bool is_hex = text.starts_with("0x");
  if (is_hex) text.remove_prefix(2);
  std::uint64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value, is_hex ? 16 : 10).ec != std::errc{}) return {};
  return value;
}

}  // namespace

bool begin_again(user_regs_struct& registers, bool is_after_syscall_instruction) {
  const auto number = static_cast<long>(registers.orig_rax);
  if (!is_after_syscall_instruction || number < 0 || registers.rax != static_cast<std::uint64_t>(-EINTR)) return false;
  if (std::find(ended_by_a_stop.begin(), ended_by_a_stop.end(), number) == ended_by_a_stop.end()) return false;
  registers.rax = restart_no_handler;
  return true;
}

bool read_and_begin_again(pid_t pid, const held_thread& thread, user_regs_struct& registers) {
  constexpr std::uint16_t syscall_instruction = 0x050f;
  std::uint16_t instruction = 0;
  if (!thread.read(registers)) return false;
  read_memory(pid, registers.rip - sizeof instruction, &instruction, sizeof instruction);
  if (begin_again(registers, instruction == syscall_instruction)) thread.write(registers);
  return true;
}

user_regs_struct made_anew(user_regs_struct registers, const memory_reader& read) {
  constexpr long restart = -512, restart_no_intr = -513, restart_no_hand = -514, restart_block = -516;
  const auto result = static_cast<long>(registers.rax);
  auto number = static_cast<long>(registers.orig_rax);
  if (number < 0 ||
      (result != restart && result != restart_no_intr && result != restart_no_hand && result != restart_block))
    return registers;
  if (number == SYS_restart_syscall) {
    number = call_number(registers, read).value_or(-1);
    if (std::find(began_again_by_kernel.begin(), began_again_by_kernel.end(), number) == began_again_by_kernel.end()) {
      registers.rax = static_cast<std::uint64_t>(-EINTR);
      return registers;
    }
  }
  registers.rax = static_cast<std::uint64_t>(number);
  registers.rip -= syscall_bytes;
  return registers;
}

user_regs_struct made_anew(pid_t pid, const user_regs_struct& registers) {
  return made_anew(registers, [pid](std::uint64_t address, void* to, std::size_t bytes) {
    return read_memory(pid, address, to, bytes);
  });
}

bool is_waiting(std::string_view system_call) {
  return word_of(system_call, 0).has_value();
}

bool would_be_cut_short(std::string_view system_call) {
  const auto number = word_of(system_call, 0);
  if (!number) return false;
  const auto flags_of_recv = static_cast<long>(*number) == SYS_recvfrom  ? word_of(system_call, 4)
                             : static_cast<long>(*number) == SYS_recvmsg ? word_of(system_call, 3)
                                                                         : std::nullopt;
  return (flags_of_recv && (*flags_of_recv & MSG_WAITALL) != 0) ||
         std::find(in_parts.begin(), in_parts.end(), static_cast<long>(*number)) != in_parts.end();
}

bool would_wait_longer(std::string_view system_call) {
  const auto number = word_of(system_call, 0);
  if (!number) return false;
  const auto argument = [&](unsigned index) { return word_of(system_call, index).value_or(0); };
  switch (static_cast<long>(*number)) {
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return static_cast<std::int32_t>(argument(4)) > 0;
    case SYS_epoll_pwait2:
    case SYS_semtimedop:
      return argument(4) != 0;
    case SYS_rt_sigtimedwait:
      return argument(3) != 0;
    case SYS_io_getevents:
    case SYS_recvmmsg:
      return argument(5) != 0;
    default:
      return false;
  }
}

}  // namespace heapledger::inject

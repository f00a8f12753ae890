#include "tool/inject/call_filter.hpp"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <ctime>
#include <vector>

namespace heapledger::inject {
namespace {

struct needed_call {
  std::string_view name;
  int number;
  std::array<std::uint64_t, 6> arguments{};
};

constexpr auto here = static_cast<std::uint64_t>(AT_FDCWD);

// Of dlopen, of heapledger_attach, and of the events of threads that come to it later.
constexpr needed_call needed[] = {
    {"mmap", SYS_mmap, {0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS}},
    {"mmap", SYS_mmap, {1 << 20, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED | MAP_DENYWRITE, 3}},
    {"mmap", SYS_mmap, {0, 1 << 20, PROT_NONE, MAP_SHARED | MAP_NORESERVE, 3}},
    {"munmap", SYS_munmap, {1 << 20, 4096}},
    {"mprotect", SYS_mprotect, {1 << 20, 4096, PROT_READ | PROT_WRITE}},
    {"rt_sigreturn", SYS_rt_sigreturn},
    {"openat", SYS_openat, {here, 1 << 20, O_RDONLY | O_CLOEXEC}},
    {"openat", SYS_openat, {here, 1 << 20, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600}},
    {"read", SYS_read, {3, 1 << 20, 832}},
    {"newfstatat", SYS_newfstatat, {3, 1 << 20, 1 << 20, AT_EMPTY_PATH}},
    {"close", SYS_close, {3}},
    {"stat", SYS_stat, {1 << 20, 1 << 20}},
    {"readlinkat", SYS_readlinkat, {here, 1 << 20, 1 << 20, 4095}},
    {"getpid", SYS_getpid},
    {"getppid", SYS_getppid},
    {"gettid", SYS_gettid},
    {"prlimit64", SYS_prlimit64},
    {"fchmod", SYS_fchmod, {3, 0600}},
    {"ftruncate", SYS_ftruncate, {3, 1 << 20}},
    {"fallocate", SYS_fallocate, {3, 0, 0, 16384}},
    {"munlock", SYS_munlock, {1 << 20, 1 << 20}},
    {"madvise", SYS_madvise, {1 << 20, 8192, MADV_DONTDUMP}},
    {"rt_sigprocmask", SYS_rt_sigprocmask, {SIG_BLOCK, 1 << 20, 1 << 20, 8}},
    {"futex", SYS_futex, {1 << 20, FUTEX_WAKE_OP_PRIVATE}},
    {"clock_gettime", SYS_clock_gettime, {CLOCK_BOOTTIME, 1 << 20}},
    {"prctl", SYS_prctl, {PR_GET_NAME, 1 << 20}},
};

bool ends(std::uint32_t action) {
  return action == SECCOMP_RET_KILL_PROCESS || action == SECCOMP_RET_KILL_THREAD || action == SECCOMP_RET_TRAP;
}

seccomp_data data_of(const needed_call& call) {
  seccomp_data data{};
  data.nr = call.number;
  data.arch = AUDIT_ARCH_X86_64;
  std::memcpy(data.args, call.arguments.data(), sizeof data.args);
  return data;
}

// The classic machine of packet filters, as far as filters of system calls may use it: two registers, sixteen words.
class filter_run {
 public:
  filter_run(std::span<const sock_filter> filter, const seccomp_data& call) : filter_(filter), call_(call) {}

  std::uint32_t result() {
    for (std::size_t at = 0; at < filter_.size(); ++at) {  // it jumps forward only
      const sock_filter& step = filter_[at];
      const std::uint32_t operand = BPF_SRC(step.code) == BPF_X ? x_ : step.k;
      switch (BPF_CLASS(step.code)) {
        case BPF_RET:
          return BPF_RVAL(step.code) == BPF_A ? a_ : step.k;
        case BPF_JMP:
          at += BPF_OP(step.code) == BPF_JA ? step.k : holds(BPF_OP(step.code), operand) ? step.jt : step.jf;
          break;
        case BPF_ALU:
          a_ = computed(BPF_OP(step.code), operand);
          break;
        case BPF_LD:
          a_ = loaded(step);
          break;
        case BPF_LDX:
          x_ = loaded(step);
          break;
        case BPF_ST:
          memory_[step.k % memory_.size()] = a_;
          break;
        case BPF_STX:
          memory_[step.k % memory_.size()] = x_;
          break;
        default:
          (BPF_MISCOP(step.code) == BPF_TAX ? x_ : a_) = BPF_MISCOP(step.code) == BPF_TAX ? a_ : x_;
      }
    }
    return SECCOMP_RET_ALLOW;
  }

 private:
  bool holds(int condition, std::uint32_t operand) const {
    switch (condition) {
      case BPF_JEQ:
        return a_ == operand;
      case BPF_JGT:
        return a_ > operand;
      case BPF_JGE:
        return a_ >= operand;
      default:
        return (a_ & operand) != 0;
    }
  }

  std::uint32_t computed(int operation, std::uint32_t operand) const {
    switch (operation) {
      case BPF_ADD:
        return a_ + operand;
      case BPF_SUB:
        return a_ - operand;
      case BPF_MUL:
        return a_ * operand;
      case BPF_DIV:
        return operand == 0 ? 0 : a_ / operand;
      case BPF_AND:
        return a_ & operand;
      case BPF_OR:
        return a_ | operand;
      case BPF_XOR:
        return a_ ^ operand;
      case BPF_LSH:
        return a_ << (operand & 31);
      case BPF_RSH:
        return a_ >> (operand & 31);
      default:
        return -a_;
    }
  }

  std::uint32_t loaded(const sock_filter& step) const {
    switch (BPF_MODE(step.code)) {
      case BPF_IMM:
        return step.k;
      case BPF_LEN:
        return sizeof call_;
      case BPF_MEM:
        return memory_[step.k % memory_.size()];
      default:
        break;
    }
    std::uint32_t word = 0;
    if (step.k <= sizeof call_ - sizeof word)
      std::memcpy(&word, reinterpret_cast<const char*>(&call_) + step.k, sizeof word);
    return word;
  }

  std::span<const sock_filter> filter_;
  const seccomp_data& call_;
  std::uint32_t a_ = 0;
  std::uint32_t x_ = 0;
  std::array<std::uint32_t, BPF_MEMWORDS> memory_{};
};

std::vector<sock_filter> filter_of(pid_t tid, std::uintptr_t which) {
  const auto read = [&](sock_filter* to) {
    return ::ptrace(static_cast<__ptrace_request>(PTRACE_SECCOMP_GET_FILTER), tid, which, to);
  };
  const long steps = read(nullptr);
  std::vector<sock_filter> filter(steps > 0 ? static_cast<std::size_t>(steps) : 0);
  if (!filter.empty() && read(filter.data()) != steps) filter.clear();
  return filter;
}

}  // namespace

std::uint32_t action_of(std::span<const sock_filter> filter, const seccomp_data& call) {
  return filter_run(filter, call).result() & SECCOMP_RET_ACTION_FULL;
}

std::string_view call_that_ends(pid_t tid) {
  for (std::uintptr_t which = 0;; ++which) {
    const auto filter = filter_of(tid, which);
    if (filter.empty()) return {};
    for (const auto& call : needed)
      if (ends(action_of(filter, data_of(call)))) return call.name;
  }
}

}  // namespace heapledger::inject

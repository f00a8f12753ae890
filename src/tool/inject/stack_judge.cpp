#include "tool/inject/stack_judge.hpp"

#include <fmt/format.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>

#include "tool/collect/process.hpp"
#include "tool/inject/memory.hpp"

namespace heapledger::inject {
namespace {

// In a restartable sequence: code that the kernel begins again when the thread is moved, which it then forgets.
bool is_in_sequence(pid_t pid, pid_t tid, std::uint64_t address) {
  __ptrace_rseq_configuration where{};
  std::uint64_t current = 0;
  rseq_cs sequence{};
  if (::ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof where, &where) < 0 || where.rseq_abi_pointer == 0 ||
      !read_memory(pid, where.rseq_abi_pointer + offsetof(struct rseq, rseq_cs), &current, sizeof current) ||
      current == 0)
    return false;
  return !read_memory(pid, current, &sequence, sizeof sequence) ||
         address - sequence.start_ip < sequence.post_commit_offset;
}

// A fault that it is about to have, or a signal that somebody sent to this thread alone, and that is not to be blocked.
bool awaits_fault(pid_t pid, pid_t tid) {
  constexpr std::array faults = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
  const auto status = collect::read_proc_file(fmt::format("/proc/{}/task/{}/status", pid, tid), 1 << 16);
  constexpr std::string_view key = "\nSigPnd:\t";
  const auto at = status.find(key);
  std::uint64_t pending = 0;
  if (at == std::string::npos ||
      std::from_chars(status.data() + at + key.size(), status.data() + status.size(), pending, 16).ec != std::errc{})
    return true;
  return std::any_of(faults.begin(), faults.end(), [&](int signal) { return (pending >> (signal - 1) & 1) != 0; });
}

}  // namespace

stack_judge::stack_judge(const target& in) : in_(in), walker_(in.pid, in.modules) {
  for (const auto& each : in.modules) {
    const auto file = each.is_vdso ? collect::unique_fd() : open_module(in.pid, each);
    exports_.emplace_back(file.get());
    auto kind = code_kind::program;
    switch (kind_of(each.name())) {
      case library_kind::libc:
        kind = code_kind::libc;
        break;
      case library_kind::loader:
        kind = code_kind::loader;
        break;
      case library_kind::other:
        if (each.path != in.program && exports_.back().has("malloc")) kind = code_kind::allocator;
    }
    kinds_.push_back(kind);
  }
  const auto& libc = exports_[in.libc];
  parts_of_libc_ = find_tail_calls(in.pid, in.modules[in.libc].start - libc.first_address(), libc, is_wait);
}

placed_frame stack_judge::place(const walked_frame& frame) const {
  placed_frame placed;
  placed.was_interrupted = frame.was_interrupted;
  const auto* where = module_at(in_.modules, frame.address);
  if (where == nullptr) {
    placed.where = code_kind::generated;
    return placed;
  }
  const auto index = static_cast<std::size_t>(where - in_.modules.data());
  placed.where = kinds_[index];
  const auto address = frame.address - where->start + exports_[index].first_address();
  placed.names = exports_[index].names_at(address);
  if (placed.names.empty() && index == in_.libc)
    for (const auto& part : parts_of_libc_)
      if (part.start <= address && address < part.end) placed.names.push_back(part.of);
  return placed;
}

std::string stack_judge::why_unsafe(pid_t tid, const user_regs_struct& registers) {
  if (awaits_fault(in_.pid, tid)) return "it is about to have a fault";
  if (is_in_sequence(in_.pid, tid, registers.rip)) return "it is in a restartable sequence";
  std::vector<placed_frame> frames;
  for (const auto& each : walker_.walk(tid, registers)) {
    if (each.address == 0) break;
    frames.push_back(place(each));
  }
  return inject::why_unsafe({.frames = frames,
                             .in_system_call = static_cast<long>(registers.orig_rax) >= 0,
                             .program_has_malloc = in_.program_has_malloc});
}

}  // namespace heapledger::inject

#include "tool/inject/quiet.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>
#include <future>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "tool/collect/process.hpp"
#include "tool/inject/candidates.hpp"
#include "tool/inject/held_thread.hpp"
#include "tool/inject/interrupted_call.hpp"
#include "tool/inject/stack_walk.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::inject {
namespace {

// The last field of /proc/PID/task/TID/syscall is where in the program the call came from; 0: it is not known.
std::uint64_t caller_of(std::string_view system_call) {
  const auto field = system_call.rfind(" 0x");
  if (field == std::string_view::npos) return 0;
  const auto digits = system_call.substr(field + 3);
  std::uint64_t address = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), address, 16);
  return address;
}

class quiet_check {
 public:
  quiet_check(const target& in, const std::string& library) : in_(in), library_(library), walker_(in.pid, in.modules) {}

  bool saw_outside(pid_t tid) {
    const auto call = collect::read_proc_file(fmt::format("/proc/{}/task/{}/syscall", in_.pid, tid), 512);
    if (is_waiting(call)) {
      const auto caller = caller_of(call);
      return caller != 0 && !is_inside(caller);
    }
    auto kept = slow_.extract(tid);
    auto thread = kept.empty() ? std::make_unique<held_thread>(tid) : std::move(kept.mapped());
    int error = 0;
    switch (thread->seize(error)) {
      case seized::gone:
        return true;
      case seized::busy:
        slow_.emplace(tid, std::move(thread));
        return false;
      case seized::refused:
      case seized::group_stop:
        return false;
      case seized::stopped:
        break;
    }
    if (!in_.identity.has(tid)) return true;
    user_regs_struct registers{};
    if (!read_and_begin_again(in_.pid, *thread, registers) || is_inside(registers.rip)) return false;
    const auto frames = walker_.walk(tid, registers);
    return std::none_of(frames.begin(), frames.end(), [&](const auto& frame) { return is_inside(frame.address); });
  }

 private:
  bool is_inside(std::uint64_t address) const {
    const auto* where = module_at(in_.modules, address);
    return where != nullptr && where->path == library_;
  }

  const target& in_;
  const std::string& library_;
  stack_walker walker_;
  std::map<pid_t, std::unique_ptr<held_thread>> slow_;  // asked to stop, and not stopped yet
};

void watch_threads(const target& in, const std::string& library, std::uint64_t patience_ns) {
  quiet_check check(in, library);
  std::set<pid_t> seen;
  const auto begin_ns = collect::monotonic_ns();
  for (;;) {
    bool is_quiet = true;
    for (const auto tid : threads_of(in.pid))
      if (!seen.contains(tid) && (has_ended(in.pid, tid) || check.saw_outside(tid)))
        seen.insert(tid);
      else if (!seen.contains(tid))
        is_quiet = false;
    if (is_quiet) return;
    if (collect::monotonic_ns() - begin_ns > patience_ns)
      throw input_error(fmt::format("process {}", in.pid),
                        "a thread is in the middle of an allocation, and stays there",
                        "it goes on as before; try again");
    constexpr long pause_ns = 1'000'000;
    const timespec pause{0, pause_ns};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

void await_quiet(const target& in, const std::string& library, std::uint64_t patience_ns) {
  std::async(std::launch::async, [&] { watch_threads(in, library, patience_ns); }).get();
}

}  // namespace heapledger::inject

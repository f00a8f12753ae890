#include "tool/inject/inject.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <future>
#include <memory>

#include "tool/collect/process.hpp"
#include "tool/inject/call_filter.hpp"
#include "tool/inject/candidates.hpp"
#include "tool/inject/held_thread.hpp"
#include "tool/inject/interrupted_call.hpp"
#include "tool/inject/memory.hpp"
#include "tool/inject/remote_call.hpp"
#include "tool/inject/return_frame.hpp"
#include "tool/inject/stack_judge.hpp"
#include "tool/inject/stragglers.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::inject {
namespace {

constexpr std::size_t longest_error = 1000;
constexpr std::uint64_t first_pause_ns = 1'000'000;
constexpr std::uint64_t longest_pause_ns = 100'000'000;

std::string subject(const target& in) {
  return fmt::format("process {}", in.pid);
}

// errno is the thread's, and it may be about to look at it.
class kept_errno {
 public:
  kept_errno(const target& in, remote_calls& calls) : pid_(in.pid) {
    const auto at = calls.call(in.libc_function("__errno_location"), {});
    if (!read_memory(pid_, at, &value_, sizeof value_)) return;
    at_ = at;
    calls.put_back_alone(at, value_);
  }
  ~kept_errno() {
    if (at_ != 0) write_memory(pid_, at_, &value_, sizeof value_);
  }
  kept_errno(const kept_errno&) = delete;
  kept_errno& operator=(const kept_errno&) = delete;

 private:
  pid_t pid_;
  std::uint64_t at_ = 0;
  int value_ = 0;
};

[[noreturn]] void throw_loader_error(const target& in, remote_calls& calls, const char* what) {
  const auto text = calls.call(in.libc_function("dlerror"), {});
  const auto words = text == 0 ? std::string("no reason given") : read_text(in.pid, text, longest_error);
  throw input_error(subject(in), fmt::format("its loader refused {}: {}", what, words), "it goes on as before");
}

void refuse_deadly_filter(const target& in, const held_thread& thread) {
  if (const auto call = call_that_ends(thread.tid()); !call.empty())
    throw input_error(subject(in),
                      fmt::format("its filter of system calls (seccomp) ends it for {}, which the probe needs", call),
                      "start it with heapledger run");
}

std::int32_t carry_out(const target& in, held_thread& thread, const std::vector<spare_place>& places,
                       const wish& what) {
  remote_calls calls(in, thread, places, what.library.size() + what.function.size() + what.argument.size() + 3);
  const auto library = calls.place(what.library);
  const auto function = calls.place(what.function);
  const auto argument = calls.place(what.argument);
  const kept_errno keep(in, calls);
  const auto handle = calls.call(in.libc_function("dlopen"), {library, RTLD_NOW | RTLD_GLOBAL});
  if (handle == 0) throw_loader_error(in, calls, "the probe");
  const auto address = calls.call(in.libc_function("dlsym"), {handle, function});
  if (address == 0) throw_loader_error(in, calls, "to find the probe's function");
  return static_cast<std::int32_t>(calls.call(address, {argument}));
}

// Why nothing came of it; each thread adds its own.
struct attempt {
  std::string reason;
  bool is_over = false;
  busy_threads busy;  // looked at before others, for they stand still soon
  outcome result;
};

struct sight {
  stack_judge judge;
  std::vector<spare_place> places;
};

void try_thread(const target& in, const wish& what, sight& seen, pid_t tid, attempt& now) {
  auto kept = now.busy.extract(tid);
  auto owned = kept.empty() ? std::make_unique<held_thread>(tid) : std::move(kept.mapped());
  auto& thread = *owned;
  int error = 0;
  switch (thread.seize(error)) {
    case seized::gone:
      return;
    case seized::refused: {
      if (has_ended(in.pid, tid)) return;
      // Of the thread: who was faster than we may have this one alone.
      const auto status = collect::read_proc_file(fmt::format("/proc/{}/task/{}/status", in.pid, tid), 1 << 16);
      throw input_error(subject(in),
                        why_not_traced(status, collect::read_proc_file("/proc/sys/kernel/yama/ptrace_scope", 16),
                                       fmt::format("heapledger attach {}", in.pid)));
    }
    case seized::busy:
      now.reason = "it does not stop";
      now.busy.emplace(tid, std::move(owned));
      return;
    case seized::group_stop:
      throw input_error(subject(in), "is stopped", fmt::format("let it go on first: kill -CONT {}", in.pid));
    case seized::stopped:
      break;
  }
  if (!in.identity.has(tid)) {
    if (in.identity.is_there()) return;
    throw input_error(subject(in), "has ended, and another one has its number now");
  }
  ++now.result.tries;
  user_regs_struct registers{};
  if (!read_and_begin_again(in.pid, thread, registers)) return;
  if (!in.identity.runs_the_same()) throw input_error(subject(in), "has just executed another program", "try again");
  now.reason = seen.judge.why_unsafe(tid, registers);
  if (!now.reason.empty()) return;
  if (what.heeds_filters) refuse_deadly_filter(in, thread);
  now.is_over = true;
  try {
    now.result.result = carry_out(in, thread, seen.places, what);
  } catch (const call_failure& failure) {
    throw input_error(subject(in), failure.what(), failure.goes_on() ? "it goes on as before" : "");
  }
  now.result.stopped_ns = thread.stopped_ns();
}

outcome find_moment(const target& in, const wish& what) {
  sight seen{stack_judge(in), find_spare_places(in)};
  prepare_return_frames();
  attempt now;
  const auto begin_ns = collect::monotonic_ns();
  for (auto pause_ns = first_pause_ns;; pause_ns = std::min(pause_ns * 2, longest_pause_ns)) {
    const auto spent_ns = collect::monotonic_ns() - begin_ns;
    const bool is_late = spent_ns > what.patience_ns / 2;
    auto threads = candidates_of(in.pid, is_late);
    if (threads.has_ended) throw input_error(subject(in), "has ended already");
    const bool must_wait = has_straggler(in, seen.places, now.busy);
    if (must_wait) now.reason = "one is on its way back from a call, whose caller was killed";
    std::erase_if(threads.tids, [&](pid_t tid) { return must_wait || now.busy.contains(tid); });
    for (const auto& [tid, thread] : now.busy)
      if (!must_wait) threads.tids.insert(threads.tids.begin(), tid);
    for (const auto tid : threads.tids) {
      try_thread(in, what, seen, tid, now);
      if (now.is_over) return now.result;
      if (collect::monotonic_ns() - begin_ns > what.patience_ns) break;
    }
    if (spent_ns > what.patience_ns)
      throw input_error(subject(in),
                        fmt::format("no moment was found to load the probe; the last thread looked at: {}",
                                    now.reason.empty() ? "it waits in the kernel, and cannot be stopped" : now.reason),
                        "it goes on as before; try again");
    if (!now.busy.empty()) pause_ns = first_pause_ns;
    const timespec pause{0, static_cast<long>(pause_ns)};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace

outcome call_in(const target& in, const wish& what) {
  return std::async(std::launch::async, [&] { return find_moment(in, what); }).get();
}

}  // namespace heapledger::inject

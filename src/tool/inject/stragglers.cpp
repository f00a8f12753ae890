#include "tool/inject/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "tool/collect/process.hpp"
#include "tool/inject/candidates.hpp"
#include "tool/inject/interrupted_call.hpp"

namespace heapledger::inject {
namespace {

constexpr std::uint64_t leave_bytes = 1;

bool is_at(const target& in, const std::vector<spare_place>& places, const user_regs_struct& registers) {
  return (in.code.change_stack != 0 && registers.rip - in.code.change_stack <= leave_bytes) ||
         std::any_of(places.begin(), places.end(),
                     [&](const auto& place) { return registers.rsp - place.address < place.bytes; });
}

// Of one that waits in the kernel, without stopping it: "7 0x7ffe ... 0x7f00", with the stack pointer before the last.
std::optional<bool> is_at_by_wait(const target& in, const std::vector<spare_place>& places, pid_t tid) {
  const auto call = collect::read_proc_file(fmt::format("/proc/{}/task/{}/syscall", in.pid, tid), 512);
  const auto last = call.rfind(" 0x");
  const auto before = last == std::string::npos || last == 0 ? std::string::npos : call.rfind(" 0x", last - 1);
  if (!is_waiting(call) || before == std::string::npos) return {};
  user_regs_struct registers{};
  registers.rsp = std::strtoull(call.c_str() + before, nullptr, 16);
  registers.rip = std::strtoull(call.c_str() + last, nullptr, 16);
  return is_at(in, places, registers);
}

bool is_away(const target& in, const std::vector<spare_place>& places, pid_t tid, busy_threads& busy) {
  if (has_ended(in.pid, tid)) return false;
  if (!busy.contains(tid))
    if (const auto known = is_at_by_wait(in, places, tid)) return *known;
  auto kept = busy.extract(tid);
  auto thread = kept.empty() ? std::make_unique<held_thread>(tid) : std::move(kept.mapped());
  int error = 0;
  switch (thread->seize(error)) {
    case seized::gone:
      return false;
    case seized::busy:
      busy.emplace(tid, std::move(thread));
      return true;
    case seized::refused:
    case seized::group_stop:
      return true;
    case seized::stopped:
      break;
  }
  user_regs_struct registers{};
  return in.identity.has(tid) && (!read_and_begin_again(in.pid, *thread, registers) || is_at(in, places, registers));
}

}  // namespace

bool has_straggler(const target& in, const std::vector<spare_place>& places, busy_threads& busy) {
  const auto tids = borrowers_of(in.pid, places);
  return std::any_of(tids.begin(), tids.end(), [&](pid_t tid) { return is_away(in, places, tid, busy); });
}

}  // namespace heapledger::inject

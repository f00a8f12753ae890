// Heeding the tool: start and stop, and arming what it wants armed, a bounded part of it at each event.
#include "probe/watch/control.hpp"

#include <errno.h>
#include <sys/mman.h>

#include "probe/account/books.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

constinit watch_view watching = {0, 0};
constinit std::uint32_t watch_lock = 0;
constinit watch_order watch_in_force;
constinit std::uint32_t watch_forks = 0;
constinit std::uint32_t watch_started = 0;
constinit bool watch_survives_forks = false;

namespace {

constexpr std::uint32_t arms_each_time = 128;  // some 50 us
constinit std::uint32_t marks_seen = 0;

template <class T>
T read(const T& word) {
  return __atomic_load_n(&word, __ATOMIC_RELAXED);
}

// False: a fork is going on; later.
bool start() {
  wire::watch_answer& answer = segment.header->watch;
  __atomic_store_n(&watch_started, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&watch_forks, __ATOMIC_SEQ_CST) != 0) return false;
  watch_trouble trouble{wire::watch_obstacle::no_fork_handler, 0};
  std::uint32_t limit = 0;
  if (calls_may_be_refused)
    trouble = {wire::watch_obstacle::no_memfd, EPERM};
  else if (watch_survives_forks)
    trouble = reserve_window(limit);
  if (trouble.obstacle == wire::watch_obstacle::none) trouble = try_arena();
  answer.slot_limit = limit < segment.watch_slots.capacity ? limit : segment.watch_slots.capacity;
  answer.base = window.bytes != 0 ? window.base : 0;
  answer.obstacle = trouble.obstacle;
  answer.error = trouble.error;
  return true;
}

void heed_request(const wire::watch_request& request, std::uint64_t now_ns) {
  wire::watch_answer& answer = segment.header->watch;
  watch_in_force.lease_ns = read(request.lease_ns);
  watch_in_force.most_bytes = read(request.most_bytes);
  watch_in_force.most_each_bytes = read(request.most_each_bytes);
  watch_in_force.most_blocks = read(request.most_blocks);
  std::uint32_t suspects = read(request.suspect_count);
  if (suspects > segment.watch_suspects.capacity) suspects = 0;
  watch_in_force.suspect_count = suspects;
  const bool possible = answer.obstacle == wire::watch_obstacle::none || answer.placed != 0;
  watch_in_force.on = read(request.on) == 1 && possible && now_ns < watch_in_force.lease_ns;
  answer.state = !possible           ? wire::watch_state::impossible
                 : watch_in_force.on ? wire::watch_state::watching
                                     : wire::watch_state::stopped;
  std::uint32_t marks = watch_in_force.on ? read(request.mark_count) : 0;
  if (marks > segment.watch_marks.capacity) marks = 0;
  const std::uint32_t changes = read(request.mark_sequence);
  if (marks == watching.mark_count && changes == marks_seen) return;
  marks_seen = changes;
  __atomic_store_n(&watching.mark_count, marks, __ATOMIC_RELEASE);
  forget_recent_accounts();
}

bool absent(void* at, std::uint64_t bytes) {
  constexpr int dontneed_locked = 24;  // Linux 5.18
  if (sys::madvise(at, bytes, MADV_DONTNEED) == 0) return true;
  ++segment.header->watch.locked_arms;
  return sys::madvise(at, bytes, dontneed_locked) == 0;
}

bool may_arm(const wire::watch_arm& wanted) {
  if (wanted.slot >= segment.header->watch.slot_count || is_apart(wanted.slot)) return false;
  const wire::watch_slot& slot = segment.watch_slots[wanted.slot];
  return slot.state == wire::watch_slot_state::live && slot.serial == wanted.serial;
}

void set_armed(std::uint32_t from, std::uint32_t to, std::uint64_t now_ns) {
  for (; from < to; from += run_length(from))
    __atomic_store_n(&segment.watch_slots[from].armed_ns, now_ns, __ATOMIC_RELEASE);
}

// Neighbours by one call. Returns whether the batch is done.
bool arm(const wire::watch_request& request) {
  wire::watch_answer& answer = segment.header->watch;
  const std::uint32_t batch = read(request.arm_batch);
  std::uint32_t count = read(request.arm_count);
  if (count > segment.watch_arms.capacity) count = 0;
  std::uint32_t done = answer.arm_done;
  if (answer.arm_batch != batch) {
    done = 0;
    __atomic_store_n(&answer.arm_done, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&answer.arm_batch, batch, __ATOMIC_RELEASE);
  }
  const std::uint32_t stop = count - done < arms_each_time ? count : done + arms_each_time;
  while (done < stop) {
    const wire::watch_arm first{read(segment.watch_arms[done].slot), read(segment.watch_arms[done].serial)};
    ++done;
    if (!may_arm(first)) continue;
    std::uint32_t end = first.slot + run_length(first.slot);
    for (; done < stop; ++done) {
      const wire::watch_arm more{read(segment.watch_arms[done].slot), read(segment.watch_arms[done].serial)};
      if (more.slot != end || !may_arm(more)) break;
      end += run_length(more.slot);
    }
    // In between nobody must take absent pages for untouched since the time before.
    set_armed(first.slot, end, 0);
    if (absent(address_of(first.slot), (end - first.slot) * wire::watch_slot_bytes))
      set_armed(first.slot, end, sys::clock_ns(sys::clock_monotonic));
    else
      ++answer.failed_arms;
  }
  __atomic_store_n(&answer.arm_done, done, __ATOMIC_RELEASE);
  return done >= count;
}

}  // namespace

void stop_watch() {
  watch_in_force.on = false;
  segment.header->watch.state = wire::watch_state::stopped;
  __atomic_store_n(&watching.mark_count, 0, __ATOMIC_RELEASE);
  forget_recent_accounts();
}

HL_COLD void heed_watch() {
  const signals_blocked quiet;
  std::uint32_t free = 0;
  if (!__atomic_compare_exchange_n(&watch_lock, &free, 1u, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return;
  {
    const wire::watch_request& request = segment.header->watch_asked;
    wire::watch_answer& answer = segment.header->watch;
    const std::uint32_t sequence = __atomic_load_n(&request.sequence, __ATOMIC_ACQUIRE);
    const bool to_start = !watch_in_force.on && read(request.on) == 1;
    if (!to_start || start()) {
      const std::uint64_t now_ns = sys::clock_ns(sys::clock_monotonic);
      heed_request(request, now_ns);
      const bool done = !watch_in_force.on || arm(request);
      watching.seen = done ? sequence : ~sequence;
      __atomic_store_n(&answer.seen_sequence, sequence, __ATOMIC_RELEASE);
    }
  }
  if (__atomic_exchange_n(&watch_lock, 0u, __ATOMIC_RELEASE) == 2)
    sys::call(__NR_futex, sys::word(&watch_lock), 129 /* FUTEX_WAKE_PRIVATE */, 1);
}

}  // namespace heapledger::probe

// A fork by the C library: the blocks in slots become memory that parent and child copy on write, as all other memory
// is.
#include <pthread.h>

#include "probe/base/lock.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/watch/control.hpp"
#include "probe/watch/watch.hpp"

namespace heapledger::probe {

constinit thread_local bool watch_held_by_fork = false;

namespace {

constinit std::uint64_t mask_before = 0;  // under the lock

void hold() {
  std::uint64_t before = 0;
  sys::call(__NR_rt_sigprocmask, 0 /* SIG_BLOCK */, sys::word(&blocked_signals), sys::word(&before), 8);
  while (__atomic_exchange_n(&watch_lock, 2u, __ATOMIC_ACQUIRE) != 0)
    sys::call(__NR_futex, sys::word(&watch_lock), 128 /* FUTEX_WAIT_PRIVATE */, 2);
  mask_before = before;
  watch_held_by_fork = true;
}

void release() {
  watch_held_by_fork = false;
  const std::uint64_t before = mask_before;
  __atomic_store_n(&watch_lock, 0u, __ATOMIC_RELEASE);
  sys::call(__NR_futex, sys::word(&watch_lock), 129 /* FUTEX_WAKE_PRIVATE */, 1);
  sys::call(__NR_rt_sigprocmask, 2, sys::word(&before), 0, 8);
}

void set_apart(std::uint32_t index) {
  wire::watch_answer& answer = segment.header->watch;
  if (index >= answer.slot_count) return;
  wire::watch_slot& slot = segment.watch_slots[index];
  if (slot.state != wire::watch_slot_state::live) return;
  slot.ended_ns = sys::clock_ns(sys::clock_monotonic);
  __atomic_store_n(&slot.state, wire::watch_slot_state::apart, __ATOMIC_RELEASE);
  if (slot.suspect < segment.watch_suspects.capacity) --segment.watch_suspects[slot.suspect].live;
  --answer.live_blocks;
  answer.live_bytes -= slot.bytes;
  ++answer.apart_blocks;
  ++answer.set_apart;
}

}  // namespace

void prepare_fork() {
  __atomic_add_fetch(&watch_forks, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&watch_started, __ATOMIC_SEQ_CST) == 0) return;
  hold();
  privatise_arenas();
}

void fork_in_parent() {
  if (watch_held_by_fork) {
    if (segment.header != nullptr) {
      ++segment.header->watch.forks;
      part_from_child(set_apart);
    }
    release();
  }
  __atomic_sub_fetch(&watch_forks, 1, __ATOMIC_SEQ_CST);
}

void fork_in_child() {
  __atomic_store_n(&watch_forks, 0, __ATOMIC_SEQ_CST);
  if (!watch_held_by_fork) return;
  keep_inherited();
  release();
}

void start_fork_handlers() {
  watch_survives_forks = pthread_atfork(prepare_fork, fork_in_parent, fork_in_child) == 0;
}

void reset_watch() {
  watch_lock = 0;
  watch_forks = 0;
  if (window.bytes != 0) keep_inherited();
  watch_in_force = {};
  watching = {0, 0};
}

}  // namespace heapledger::probe

#include "probe/hook/process.hpp"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>

#include <cstring>

#include "probe/account/account_index.hpp"
#include "probe/account/cells.hpp"
#include "probe/account/errors.hpp"
#include "probe/account/large_blocks.hpp"
#include "probe/account/registry.hpp"
#include "probe/account/snapshot.hpp"
#include "probe/account/tag.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/arguments.hpp"
#include "probe/hook/environment.hpp"
#include "probe/hook/exec.hpp"
#include "probe/hook/exit.hpp"
#include "probe/hook/foreign.hpp"
#include "probe/hook/generation.hpp"
#include "probe/hook/late.hpp"
#include "probe/hook/late_books.hpp"
#include "probe/hook/lifetime.hpp"
#include "probe/hook/limits.hpp"
#include "probe/hook/mapping.hpp"
#include "probe/hook/marker_api.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/options.hpp"
#include "probe/hook/own_copies.hpp"
#include "probe/hook/process_age.hpp"
#include "probe/hook/sandbox.hpp"
#include "probe/hook/self_check.hpp"
#include "probe/hook/shown_environment.hpp"
#include "probe/hook/thread_books.hpp"
#include "probe/hook/uncounted.hpp"
#include "probe/hook/without_books.hpp"
#include "probe/pool/pools.hpp"
#include "probe/pool/sites.hpp"
#include "probe/publish/modules.hpp"
#include "probe/publish/stack_tree.hpp"
#include "probe/scope/slots.hpp"
#include "probe/unwind/registered_frames.hpp"
#include "probe/watch/control.hpp"
#include "probe/watch/watch.hpp"

namespace heapledger::probe {

constinit process_state state;

namespace {

// waiting: loaded late, for somebody to attach.
enum class stage : std::uint32_t { untouched, waiting, beginning, keeping, off };
constinit std::uint32_t current_stage = static_cast<std::uint32_t>(stage::untouched);
constinit int beginning_tid = 0;
constinit bool forks_heard = false;
constinit options chosen;
constinit std::uint64_t attached_after_ns = 0;
constinit unsigned attached_times = 0;

constexpr unsigned inherited_limit = 8;
constinit std::uint64_t inherited_keys[inherited_limit] = {};

stage now() {
  return static_cast<stage>(__atomic_load_n(&current_stage, __ATOMIC_ACQUIRE));
}
void set(stage next_stage) {
  __atomic_store_n(&current_stage, static_cast<std::uint32_t>(next_stage), __ATOMIC_RELEASE);
}

void draw_key() {
  const auto* random = reinterpret_cast<const std::uint64_t*>(getauxval(AT_RANDOM));
  const std::uint64_t seed = (random != nullptr ? random[0] ^ random[1] : 0) ^ __builtin_ia32_rdtsc() ^ state.tag_key;
  state.tag_key = (seed ^ seed >> 29) * 0xbf58476d1ce4e5b9u;
}

void publish_process() {
  wire::segment_header& header = *segment.header;
  header.exe = publish_string(chosen.exe, std::strlen(chosen.exe));
  if (state.attached) header.attached_after_ns = attached_after_ns;
  publish_arguments(state.attached);
}

void find_loader() {
  dl_find_object loader;
  if (_dl_find_object(reinterpret_cast<void*>(_r_debug.r_ldbase), &loader) != 0) return;
  state.loader_start = reinterpret_cast<std::uint64_t>(loader.dlfo_map_start);
  state.loader_bytes = reinterpret_cast<std::uint64_t>(loader.dlfo_map_end) - state.loader_start;
}

bool open_books(bool forked, bool in_event) {
  char path[options::path_capacity];
  segment_options wanted{path, chosen.stacks, chosen.depth_limit, forked, state.lifetimes};
  constexpr unsigned attempts = 64;
  if (chosen.device) wanted.path = nullptr;
  bool open = chosen.device && create_segment(wanted);
  auto why = limit_met::none;
  for (unsigned attempt = 0; attempt < attempts && !open && !chosen.device; ++attempt) {
    if (!segment_path(chosen, attempt, path)) return false;
    open = create_segment(wanted, why);
    if (!open && sys::call(__NR_access, sys::word(path), 0) != 0) break;  // not because it exists
  }
  if (!open) leave_word(chosen, why);
  if (!open || !rules.create() || !tree.create() || !accounts.create()) return false;
  reset_cells();
  forget_errors();
  reset_markers();
  reset_lifetimes();
  begin_mapping_books();
  modules.reset();
  reset_registry({chosen.depth_limit, chosen.stacks, state.attached});
  reset_scopes(!in_event);
  peak_epoch = 0;
  publish_process();
  __atomic_store_n(&segment.header->private_bytes, own_bytes(), __ATOMIC_RELAXED);
  return true;
}

void end_header(wire::lifecycle how) {
  wire::segment_header& header = *segment.header;
  if (!calls_may_be_refused) header.end_monotonic_ns = sys::clock_ns(sys::clock_monotonic);
  header.private_bytes = own_bytes();
  header.state = how;
}

// Other books are to follow: a parent's before a fork, or those before a detach. What was tagged for them is recognised
// as theirs when it is freed.
void leave_former_books() {
  leave_parents_segment();
  for (unsigned i = inherited_limit; i-- > 1;) inherited_keys[i] = inherited_keys[i - 1];
  inherited_keys[0] = state.tag_key;
  ++state.birth;
  reset_own_pieces();
  begin_large_blocks(state.birth);
  forget_foreign();
  reset_watch();
  reset_generations();
  tree.reset();
  leave_books();
}

// Where a handler that interrupts an event has forked, or what a budget calls, this thread of the child goes on with
// that event. It must not do so in its parent's books.
void leave_parents_event() {
  const books& own = *this_thread;
  if (books::busy(own.generation) || (own.scopes != nullptr && own.scopes->notifying)) keep_segment_apart();
}

// The child of a fork begins its own books: what it inherited is its parent's, and recognised as such when freed.
bool begin_forked() {
  const lock_guard held(process.lock);
  if (process.generation != 0 || now() == stage::off) return now() == stage::keeping;  // another thread was first
  leave_parents_event();
  begin_limits();
  if (chosen.follow && !calls_may_be_refused && !is_place_within_reach(chosen))
    note_uncounted_child(wire::uncounted_reason::out_of_reach, chosen.exe);
  const bool in_event = segment.apart;  // it goes on with what it holds
  leave_former_books();
  draw_key();
  if (!chosen.follow || !open_books(true, in_event)) {
    set(stage::off);
    return false;
  }
  move_pools();
  start_generation();
  if (process.ends) end_header(wire::lifecycle::exited);
  return true;
}

void heed_options() {
  state.stacks_off = chosen.stacks == wire::stacks_mode::off;
  state.check = chosen.check && !state.stacks_off;
  choose_lifetimes(chosen.lifetimes);
  choose_paths();
  draw_key();
  find_loader();
}

// Once there are books.
void keep_books() {
  if (attached_times <= 1) {  // else it is done
    start_fork_handlers();
    forks_heard = pthread_atfork(nullptr, nullptr, enter_child) == 0;
  }
  start_generation();
  set(stage::keeping);
}

}  // namespace

void choose_paths() {
  state.direct = next.glibc && !state.check && !state.stacks_off && !state.lifetimes;
  state.flat = next.glibc && state.stacks_off && !state.lifetimes;
  state.free_direct = next.glibc && !state.lifetimes;
}

void enter_child() {
  leave_parents_generation();
  begin_limits();
  reset_generations();
  registered.reset();
  keep_pools();  // before the program's own handlers take chunks
  leave_parents_event();
}

bool hears_of_forks() {
  return forks_heard;
}

void note_exit(int status) {
  if (now() != stage::keeping || process.generation == 0) return;
  wire::segment_header& header = *segment.header;
  // A child of vfork: they are its parent's. (Where the question may be death, such a child's status stands there until
  // the parent's own.)
  if (!calls_may_be_refused && static_cast<std::uint32_t>(sys::getpid()) != header.pid) return;
  header.exit_status = wire::exit_status_known | (static_cast<std::uint32_t>(status) & 0xff);
  end_header(wire::lifecycle::exited);
}

bool keeps_books() {
  return now() == stage::keeping;
}

bool beginning() {
  return now() == stage::beginning && beginning_tid == sys::gettid();
}

HL_COLD void begin() {
  std::uint32_t expected = static_cast<std::uint32_t>(stage::untouched);
  if (!__atomic_compare_exchange_n(&current_stage, &expected, static_cast<std::uint32_t>(stage::beginning), false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
    while (now() == stage::beginning && !beginning()) sys::yield();
    return;
  }
  beginning_tid = sys::gettid();
  if (came_late()) {
    be_late();
    find_next_allocator();  // else whoever attaches is told
    start_mapping();
    return set(stage::waiting);
  }
  if (!find_next_allocator()) __builtin_trap();
  start_mapping();
  read_options(chosen);
  heed_options();
  if (!chosen.selected || !await_thread_ends() || !open_books(false, false)) {
    if (chosen.selected && chosen.wished) complain_of_place(chosen);
    drop_segment();
    set(stage::off);
    return;
  }
  keep_books();
}

bool begin_attaching(bool quiet) {
  // Of blocks of that many books at most it is known later that they were ours. Those in slots of a leak watch would be
  // nobody's.
  const bool again = state.detached && quiet && attached_times < inherited_limit && !blocks_in_slots();
  std::uint32_t expected = static_cast<std::uint32_t>(again ? stage::off : stage::waiting);
  return __atomic_compare_exchange_n(&current_stage, &expected, static_cast<std::uint32_t>(stage::beginning), false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void give_up_attaching() {
  state.attached = attached_times != 0;
  set(attached_times != 0 ? stage::off : stage::waiting);
}

bool keep_late_books(const char* settings) {
  if (!read_options(chosen, settings)) return false;
  attached_after_ns = process_age_ns();
  if (attached_times != 0) {
    leave_former_books();
    registered.clear();
    rules.forget(0, UINT64_MAX - 1);  // nobody was told meanwhile of code that went
  }
  state.attached = true;
  heed_options();
  if (!await_thread_ends() || !open_books(false, attached_times != 0)) {
    drop_segment();
    return false;
  }
  if (attached_times++ == 0)
    start_shown_environment();
  else
    move_pools();
  if (state.check) start_self_check();
  keep_books();
  state.detached = false;
  if (chosen.snapshot_signal != 0) snapshot_at(chosen.snapshot_signal);
  return true;
}

bool end_late_books() {
  if (!state.attached || now() != stage::keeping) return false;
  state.detached = true;
  std::uint32_t expected = static_cast<std::uint32_t>(stage::keeping);
  if (!__atomic_compare_exchange_n(&current_stage, &expected, static_cast<std::uint32_t>(stage::off), false,
                                   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    return false;
  end_snapshots();
  if (process.generation == 0) return true;  // of a forked child that has had no event
  {
    const lock_guard held(watch_lock);
    stop_watch();
  }
  end_generation();
  end_header(wire::lifecycle::detached);
  return true;
}

bool blocks_in_slots() {
  return window.bytes != 0;
}

HL_COLD books* find_books(const void* at) {
  switch (now()) {
    case stage::off:
    case stage::waiting:
    case stage::beginning:
      return nullptr;
    case stage::untouched:
      begin();
      return now() == stage::keeping ? usable_books(at) : nullptr;
    case stage::keeping:
      break;
  }
  if (process.generation == 0 && !begin_forked()) return nullptr;
  return usable_books(at);
}

bool inherited_tag(void* block, std::size_t usable, std::size_t& bytes) {
  for (const std::uint64_t key : inherited_keys)
    if (key != 0 && tag(tag_word(block, usable), block, key).intact(usable, bytes)) return true;
  return false;
}

namespace {

[[gnu::constructor(101)]] void on_load() {
  begin();
  start_exec();
  start_exit();
  start_limits();
  start_sandbox();
  look_up_copiers();
  if (now() == stage::waiting) return;  // the environment is the program's own
  start_environment(chosen.follow);
  start_shown_environment();
  if (now() == stage::keeping && state.check) start_self_check();
  if (now() == stage::keeping && chosen.snapshot_signal != 0) snapshot_at(chosen.snapshot_signal);
}

[[gnu::destructor(101)]] void on_exit() {
  if (now() != stage::keeping) return;
  process.ends = true;
  if (process.generation == 0) return;
  if (scopes_in_use && books_of_thread() != nullptr)  // the scope that it is in may stay open
    if (const booking event(__builtin_dwarf_cfa()); event) settle_scope(*event);
  segment.header->exit_status = 0;
  end_header(wire::lifecycle::exited);
}

}  // namespace

}  // namespace heapledger::probe

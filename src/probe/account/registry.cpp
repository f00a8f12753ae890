#include "probe/account/registry.hpp"

#include "probe/account/cells.hpp"
#include "probe/account/watch_view.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/base/sandbox.hpp"

namespace heapledger::probe {

constinit process_page process = {};
constinit std::uint32_t sole_writer = no_sole_writer;

namespace {

constinit std::uint32_t registry_lock = 0;
constinit books* free_books = nullptr;
constinit books* made_books = nullptr;
constinit std::uint32_t in_use = 0;
constinit std::uint32_t without_record = 0;  // of these, books that record 0 serves
constinit std::uint32_t next_recycled = 1;
constinit registry_options settings;

constexpr int prctl_get_name = 16;

books* make_books() {
  wire::segment_header& header = *segment.header;
  const std::uint32_t id = header.writer_count;
  if (!commit(segment.writers, id + 1) || !commit(segment.writer_books, id + 1)) return nullptr;
  auto* memory =
      static_cast<char*>(own_piece(sizeof(books) + stack_walk::initial_bytes() + recent_accounts::initial_bytes()));
  if (memory == nullptr) return nullptr;
  header.writer_count = id + 1;
  auto* own = reinterpret_cast<books*>(memory);
  own->id = own->writer_id = id + 1;
  // Before the new books have an account; whoever frees a block of it learned of the block later.
  __atomic_store_n(&sole_writer, id == 0 && !scopes_in_use && !settings.foreign_blocks ? own->id : no_sole_writer,
                   __ATOMIC_RELEASE);
  own->writer = &segment.writers[id];
  own->peak_mark = id == 0 ? 0 : INT64_MAX;
  if (id == 1) header.threaded = 1;
  no_deltas(*own);
  memory += sizeof(books);
  own->stack.init(memory, settings.depth_limit, settings.stacks);
  own->recent.init(memory + stack_walk::initial_bytes());
  own->ends.init();
  own->next_made = made_books;
  __atomic_store_n(&made_books, own, __ATOMIC_RELEASE);
  return own;
}

// The next record of a thread that has ended; 0: there is none. Of those that were used: there may be no room for more.
std::uint32_t next_ended() {
  const std::uint32_t count = segment.header->thread_count;
  for (std::uint32_t tried = 1; tried < count; ++tried) {
    const std::uint32_t at = next_recycled;
    next_recycled = at + 1 == count ? 1 : at + 1;
    if (segment.threads[at].state == wire::thread_state::ended) return at;
  }
  return 0;
}

// What was booked for it is one of several threads' from now on.
void forget_writers_of(std::uint32_t record) {
  for (std::uint32_t i = 0; i < segment.header->writer_count; ++i)
    if (segment.writer_books[i].thread == record + 1) segment.writer_books[i].thread = wire::several_threads;
}

void add_totals(wire::thread& sum, const wire::thread& of) {
  sum.allocations += of.allocations;
  sum.allocated_bytes += of.allocated_bytes;
  sum.frees += of.frees;
  sum.freed_bytes += of.freed_bytes;
}

// Record 0 sums up ended threads whose records were needed again. While it serves a thread, which would take what is
// added for its own work, in scopes, another ended thread's record does.
bool recycle(std::uint32_t& record) {
  const std::uint32_t at = next_ended();
  const std::uint32_t sum = without_record == 0 ? 0 : next_ended();
  if (at == 0 || at == sum || (without_record != 0 && sum == 0)) return false;
  if (sum != 0) {
    forget_writers_of(sum);
    segment.threads[sum].tid = 0;
    __builtin_strcpy(segment.threads[sum].name, "(ended threads)");
  }
  add_totals(segment.threads[sum], segment.threads[at]);
  segment.threads[sum].state = wire::thread_state::ended;
  segment.threads[at] = {};
  forget_writers_of(at);
  record = at;
  return true;
}

}  // namespace

void reset_registry(const registry_options& options) {
  registry_lock = 0;
  free_books = made_books = nullptr;
  in_use = without_record = 0;
  next_recycled = 1;
  settings = options;
}

books* all_books() {
  return __atomic_load_n(&made_books, __ATOMIC_ACQUIRE);
}

std::uint32_t registered_books() {
  return __atomic_load_n(&in_use, __ATOMIC_RELAXED);
}

books* acquire_books(std::uint32_t thread_record) {
  look_at_watch();
  lock_guard held(registry_lock);
  books* own = free_books;
  if (own != nullptr)
    free_books = own->next_free;
  else if (own = make_books(); own == nullptr)
    return nullptr;
  __atomic_store_n(&in_use, in_use + 1, __ATOMIC_RELAXED);
  // Each may hold back what would have made a later peak.
  if (segment.header->peak_threads < in_use) segment.header->peak_threads = in_use;
  own->thread = &segment.threads[thread_record];
  if (thread_record == 0) ++without_record;
  std::uint32_t& served = segment.writer_books[own->writer_id - 1].thread;
  if (served != thread_record + 1)
    served = served == 0 && thread_record != 0 ? thread_record + 1 : wire::several_threads;
  own->nested = nullptr;
  own->last_block = nullptr;
  own->forget_recent();
  if (own->known_generation != process.generation) own->forget_code();
  own->stack.forget();
  own->generation = own->known_generation = process.generation;
  return own;
}

void release_books(books* own) {
  lock_guard held(registry_lock);
  own->next_free = free_books;
  free_books = own;
  if (own->thread == &segment.threads[0]) --without_record;
  __atomic_store_n(&in_use, in_use - 1, __ATOMIC_RELAXED);
}

void refresh_thread_name(wire::thread& thread) {
  if (!calls_may_be_refused) sys::call(__NR_prctl, prctl_get_name, sys::word(thread.name));
}

std::uint32_t open_thread_record() {
  lock_guard held(registry_lock);
  wire::segment_header& header = *segment.header;
  std::uint32_t record = header.thread_count;
  if (record < segment.threads.capacity && commit(segment.threads, record + 1)) {
    __atomic_store_n(&header.thread_count, record + 1, __ATOMIC_RELEASE);
  } else if (!recycle(record)) {
    count_loss(wire::loss::threads_full);
    return 0;
  }
  wire::thread& thread = segment.threads[record];
  thread.tid = sys::gettid();
  thread.start_ns = sys::clock_ns(sys::clock_monotonic);
  thread.end_ns = 0;
  refresh_thread_name(thread);
  thread.state = wire::thread_state::running;
  return record;
}

void close_thread_record(std::uint32_t record) {
  wire::thread& thread = segment.threads[record];
  refresh_thread_name(thread);
  thread.end_ns = sys::clock_ns(sys::clock_monotonic);
  if (record != 0) thread.state = wire::thread_state::ended;
}

}  // namespace heapledger::probe

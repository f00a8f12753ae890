#include "probe/hook/thread_books.hpp"

#include <limits.h>
#include <pthread.h>

#include "probe/account/registry.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/environment_room.hpp"
#include "probe/hook/generation.hpp"
#include "probe/hook/process.hpp"
#include "probe/scope/slots.hpp"
#include "probe/unwind/stack_bounds.hpp"

namespace heapledger::probe {

constinit const books no_books = [] {
  books none{};
  none.generation = books::never;
  return none;
}();
constinit thread_local books* this_thread = const_cast<books*>(&no_books);

namespace {

constinit pthread_key_t exit_key = 0;
constinit thread_local std::uint32_t thread_record = 0;
constinit thread_local std::uint32_t record_birth = UINT32_MAX;  // in whose books the record is
constinit thread_local std::uint32_t exit_rounds = 0;
constinit thread_local bool thread_ended = false;

// The next thread that gets them must not begin in a scope; and what this one held back, nobody else would tell.
void put_away(books* own) {
  own->generation = books::held;
  leave_scopes(*own);
  publish_live(*own);
  own->generation = 0;
  release_books(own);
}

void on_thread_exit(void*) {
  // Destructors of other keys may still allocate: stay until the last round but one. Whose first event comes in such a
  // destructor has one round less.
  if (++exit_rounds + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
    pthread_setspecific(exit_key, &exit_key);
    return;
  }
  books* own = books_of_thread();
  thread_ended = true;
  leave_books();
  give_back_environment_room();
  if (process.generation == 0 || record_birth != state.birth) return;
  close_thread_record(thread_record);
  for (books* each = own; each != nullptr;) {
    books* inner = each->nested;
    if (each != own) close_thread_record(static_cast<std::uint32_t>(each->thread - segment.threads.data));
    put_away(each);
    each = inner;
  }
}

books* register_thread() {
  if (!thread_ended) {
    // Who got no books has one already.
    if (record_birth != state.birth) thread_record = open_thread_record();
    record_birth = state.birth;
    books* own = acquire_books(thread_record);
    if (own != nullptr) {
      own->birth = state.birth;
      this_thread = own;
    }
    pthread_setspecific(exit_key, &exit_key);
    return own;
  }
  return acquire_books(thread_record);  // an event after the last destructor: given back in return_books
}

// With a thread record of their own: the interrupted event may be about to write into the other.
books* acquire_nested_books() {
  const std::uint32_t record = open_thread_record();
  books* const nested = acquire_books(record);
  if (nested == nullptr) close_thread_record(record);
  return nested;
}

// No stack holds two places with the thread's own memory, or the end of the main stack, between them.
bool on_one_stack(std::uint64_t inner, std::uint64_t outer) {
  const auto between = [=](const void* at) { return reinterpret_cast<std::uint64_t>(at) - inner <= outer - inner; };
  return !between(__builtin_thread_pointer()) && !between(__libc_stack_end);
}

// The event that holds the books may have been left by longjmp: then its stack frame is gone. Of an alternate stack
// that disarms itself (SS_AUTODISARM) the kernel does not say that a handler is on it.
bool abandoned(const books& own, const void* at) {
  const auto here = reinterpret_cast<std::uint64_t>(at);
  if (here <= own.generation || !on_one_stack(own.generation, here)) return false;
  struct {
    void* base;
    int flags;
    std::size_t bytes;
  } alternate{};
  constexpr int on_stack = 1;
  return sys::call(__NR_sigaltstack, 0, sys::word(&alternate)) == 0 && (alternate.flags & on_stack) == 0;
}

}  // namespace

bool await_thread_ends() {
  static constinit bool awaited = false;
  if (!awaited) awaited = pthread_key_create(&exit_key, on_thread_exit) == 0;
  return awaited;
}

bool hears_of_thread_end() {
  constexpr pthread_key_t keys_without_malloc = 32;  // of libc's, a thread has room for the values of these at once
  if (thread_ended || !await_thread_ends()) return false;
  if (pthread_getspecific(exit_key) != nullptr) return true;
  return exit_key < keys_without_malloc && pthread_setspecific(exit_key, &exit_key) == 0;
}

void leave_books() {
  this_thread = const_cast<books*>(&no_books);
}

books* usable_books(const void* at) {
  books* own = books_of_thread();
  if (own == nullptr) return register_thread();
  const books* outer = nullptr;
  while (books::busy(own->generation)) {
    if (abandoned(*own, at)) {
      own->stack.forget();  // the event may have been at it
      mend_scopes(*own);
      break;
    }
    outer = own;
    if (own->nested == nullptr) own->nested = acquire_nested_books();
    own = own->nested;
    if (own == nullptr) return nullptr;
  }
  if (outer != nullptr && scopes_in_use) {
    const std::uint64_t generation = own->generation;
    own->generation = books::held;  // as for any other event: its slots must not be looked at
    borrow_scope(*own, *outer);
    own->generation = generation;
  }
  catch_up(*own);
  return own;
}

HL_COLD void return_books(books* own) {
  if (thread_ended) put_away(own);
}

}  // namespace heapledger::probe

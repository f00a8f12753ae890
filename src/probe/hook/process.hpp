// The probe's life in a process: from the first allocation, through fork, to exit; and a thread's, from its first event
// to after its last destructor.
#pragma once

#include "probe/base/attributes.hpp"

#include "probe/account/books.hpp"
#include "probe/account/tag.hpp"

namespace heapledger::probe {

// State that only the slow paths change.
struct process_state {
  std::uint64_t tag_key = 0;
  std::uint32_t birth = 0;  // how many forks away from the process that loaded the probe
  bool stacks_off = false;
  bool check = false;
  bool direct = false;             // glibc's blocks, and stacks, unchecked: allocations take the fastest path
  bool flat = false;               // glibc's blocks, without stacks
  bool free_direct = false;        // glibc's blocks, whose lives nobody times: so do frees
  bool lifetimes = false;          // see lifetime.hpp
  std::size_t trailer_bytes = 16;  // behind what was asked for; until the options are read, room for either
  std::uint64_t loader_start = 0;  // ld.so's code
  std::uint64_t loader_bytes = 0;
  bool attached = false;   // the program ran already: frees of blocks that are not ours are nothing special
  bool passed_by = false;  // a library may allocate past us
  bool detached = false;
};
HL_INTERNAL extern process_state state;

// In a forked child, at once.
void enter_child();
bool hears_of_forks();  // else it would never be called
// The process ends now, and no destructor will run.
void note_exit(int status);

// Books are kept, or will be as soon as there is an event.
bool keeps_books();

// A tag made by an ancestor before a fork: whether one of their keys fits, and the bytes asked for.
bool inherited_tag(void* block, std::size_t usable, std::size_t& bytes);

// Whether an address lies in the dynamic linker; and what to do once it gave memory back: it may have unloaded code.
HL_HOT bool in_loader(const void* address) {
  return reinterpret_cast<std::uint64_t>(address) - state.loader_start < state.loader_bytes;
}
HL_COLD void loader_freed();

// By what is known of the allocator behind us, and by the options.
void choose_paths();

// Resolves the allocator behind us and begins to keep books. Called by whatever comes first.
HL_COLD void begin();
bool beginning();  // in begin(): what is allocated now serves the dynamic linker's own lookups

// constinit here too: without it every access goes through a wrapper that asks for a dynamic initialiser. A thread that
// has no books yet, or no more, has those that never go on: the fast paths need not ask for a null pointer.
HL_INTERNAL extern constinit thread_local books* this_thread;
HL_INTERNAL extern const books no_books;
inline books* books_of_thread() {
  // After a fork, another thread of the child may have begun its books.
  return this_thread != &no_books && this_thread->birth == state.birth ? this_thread : nullptr;
}

// This thread's books when they are not at hand: first events, forks, nested events. nullptr: the event goes unbooked.
HL_COLD books* find_books(const void* at);
HL_COLD void return_books(books* own);

HL_HOT bool at_hand(const books* own) {
  return own->generation == process.generation;
}

// Between these, a signal handler that allocates finds the books busy, and takes others.
HL_HOT void take(books* own, const void* at) {
  own->generation = reinterpret_cast<std::uint64_t>(at);  // and so can an abandoned event be told
  asm volatile("" ::: "memory");
}
HL_HOT void give(books* own, std::uint64_t generation) {
  asm volatile("" ::: "memory");
  own->generation = generation;
}

// Holds this thread's books for one event, on the slower paths. Empty when there are none.
class booking {
 public:
  explicit booking(const void* at) : own_(this_thread) {
    if (!at_hand(own_)) own_ = find_books(at);
    if (own_ == nullptr) return;
    generation_ = own_->generation;
    take(own_, at);
  }
  ~booking() {
    if (own_ == nullptr) return;
    give(own_, generation_);
    if (own_ != this_thread) return_books(own_);
  }
  booking(const booking&) = delete;
  booking& operator=(const booking&) = delete;

  explicit operator bool() const { return own_ != nullptr; }
  books& operator*() const { return *own_; }
  books* operator->() const { return own_; }

 private:
  books* own_;
  std::uint64_t generation_ = 0;
};

}  // namespace heapledger::probe

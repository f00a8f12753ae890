// The probe's life in a process: from the first allocation, through fork, to exit; and a thread's, from its first event
// to after its last destructor.
#pragma once

#include "probe/account/books.hpp"

namespace heapledger::probe {

// State that only the slow paths change.
struct process_state {
  std::uint64_t tag_key = 0;
  std::uint32_t birth = 0;  // how many forks away from the process that loaded the probe
  bool stacks_off = false;
  bool check = false;
  std::uint64_t loader_start = 0;  // ld.so's code
  std::uint64_t loader_bytes = 0;
};
extern process_state state;

// A tag made by an ancestor before a fork: whether one of their keys fits.
bool inherited_tag(const void* block, std::uint64_t word);

// Whether an address lies in the dynamic linker; and what to do once it gave memory back: it may have unloaded code.
HL_HOT bool in_loader(const void* address) {
  return reinterpret_cast<std::uint64_t>(address) - state.loader_start < state.loader_bytes;
}
HL_COLD void loader_freed();

// Resolves the allocator behind us and begins to keep books. Called by whatever comes first.
HL_COLD void begin();
bool beginning();  // in begin(): what is allocated now serves the dynamic linker's own lookups

// constinit here too: without it every access goes through a wrapper that asks for a dynamic initialiser.
extern constinit thread_local books* this_thread;

HL_COLD books* enter_slow(const void* at);
HL_COLD void leave_late(books* own);

// Holds this thread's books for one event. Empty when there are none: the event then goes unbooked.
class booking {
 public:
  HL_HOT explicit booking(const void* at) : own_(this_thread), generation_(process.generation) {
    if (HL_UNLIKELY(own_ == nullptr || own_->generation != generation_)) {
      own_ = enter_slow(at);
      if (own_ == nullptr) return;
      generation_ = own_->generation;
    }
    own_->generation = books::busy;
    own_->entered_at = at;
    asm volatile("" ::: "memory");  // a handler that runs from here on finds the books busy
  }
  HL_HOT ~booking() {
    asm volatile("" ::: "memory");
    if (HL_UNLIKELY(own_ == nullptr)) return;
    own_->generation = generation_;
    if (HL_UNLIKELY(own_ != this_thread)) leave_late(own_);
  }
  booking(const booking&) = delete;
  booking& operator=(const booking&) = delete;

  explicit operator bool() const { return own_ != nullptr; }
  books& operator*() const { return *own_; }
  books* operator->() const { return own_; }

 private:
  books* own_;
  std::uint32_t generation_;
};

}  // namespace heapledger::probe

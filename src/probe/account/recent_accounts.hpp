// A thread's own memory of which path has which account. The index and the keys of all accounts are megabytes in a
// large program, where a lookup waits for memory twice; what a thread does again and again fits here.
#pragma once

#include "probe/account/stack_ends.hpp"
#include "probe/base/attributes.hpp"
#include "probe/base/own_memory.hpp"

namespace heapledger::probe {

class recent_accounts {
 public:
  static constexpr unsigned first_bits = 8, last_bits = 14;
  static constexpr std::size_t initial_bytes() { return sizeof(entry) << first_bits; }

  static constexpr std::uint32_t suspect = 2;
  struct entry {
    std::uint64_t path;
    std::uint32_t account;
    std::uint32_t
        owned;  // 1: the thread owns the account, now and for ever; `suspect`: the leak watch wants its events
  };

  // `memory` holds initial_bytes() zeroed bytes.
  void init(void* memory) {
    entries_ = static_cast<entry*>(memory);
    shift_ = 64 - first_bits;
    ends_.init(true);
  }

  // One that knows nothing and learns nothing: in a scope, the account depends on more than the path.
  static recent_accounts nothing() {
    static constinit entry empty[2] = {};
    recent_accounts none;
    none.entries_ = empty;
    none.shift_ = 63;
    none.ends_.init(false);
    return none;
  }

  HL_HOT entry& of(std::uint64_t path) { return entries_[path >> shift_]; }

  // `stack`, which is to know where the entries are.
  HL_COLD void missed(stack_walk& stack) {
    if (++misses_ != misses_to_grow || shift_ == 64 - last_bits) return;
    auto* larger = static_cast<entry*>(own_map(sizeof(entry) << last_bits));
    if (larger == nullptr) return;
    entries_ = larger;  // the first, small one stays part of the thread's memory
    shift_ = 64 - last_bits;
    stack.prefetch_paths_in(entries_, shift_);
  }

  // Code was unloaded: the same addresses will mean other stacks.
  void forget() {
    __builtin_memset(entries_, 0, sizeof(entry) << (64 - shift_));
    ends_.forget();
  }

  // Of the same stacks, without the path.
  stack_ends& ends() { return ends_; }

 private:
  static constexpr std::uint32_t misses_to_grow = 4096;

  entry* entries_ = nullptr;
  stack_ends ends_;
  unsigned shift_ = 0;
  std::uint32_t misses_ = 0;
};

}  // namespace heapledger::probe

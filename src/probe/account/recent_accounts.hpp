// A thread's own memory of which path has which account. The index and the keys of all accounts are megabytes in a
// large program, where a lookup waits for memory twice; what a thread does again and again fits here.
//
// A set is one cache line: eight accounts, and 32 bits of the path of each. These bits and the set's number do not tell
// the path; who finds an account here compares the rest with what the account's cell, or its key, says of its path.
#pragma once

#include <emmintrin.h>

#include "probe/base/attributes.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {

class recent_accounts {
 public:
  enum class standing : std::uint8_t {
    none,
    owned,    // the thread owns the account, now and for ever
    others,   // it does not
    suspect,  // the leak watch wants the account's events
  };
  struct known {
    std::uint32_t account;
    standing is;
  };

  static constexpr unsigned first_bits = 6, last_bits = 11;
  static constexpr std::size_t initial_bytes() { return sizeof(set) << first_bits; }

  // `memory` holds initial_bytes() zeroed bytes, in whole cache lines.
  void init(void* memory) {
    sets_ = static_cast<set*>(memory);
    shift_ = 64 - first_bits;
  }

  // One that knows nothing and learns nothing: in a scope, the account depends on more than the path.
  static recent_accounts nothing() {
    static constinit set empty[2] = {};
    recent_accounts none;
    none.sets_ = empty;
    none.shift_ = 63;
    return none;
  }

  // An account that the thread owns, and whose cell is to say that it is the path's. 0: look further.
  HL_HOT std::uint32_t owned(std::uint64_t path) const {
    const set& in = of(path);
    const unsigned found = places_of(in.tags, path);
    if (HL_UNLIKELY(found == 0)) return 0;
    const std::uint32_t said = in.said[__builtin_ctz(found) / 2] - said_owned;
    return HL_LIKELY(said < said_owned) ? said : 0;
  }

  // Any account, of which `is_of_path(account)` says that it is the path's.
  template <class IsOfPath>
  known find(std::uint64_t path, IsOfPath is_of_path) const {
    const set& in = of(path);
    for (unsigned found = places_of(in.tags, path); found != 0; found &= found - 1, found &= found - 1) {
      const std::uint32_t said = in.said[__builtin_ctz(found) / 2];
      const known one{said & account_mask, static_cast<standing>(said >> standing_shift)};
      if (one.is != standing::none && is_of_path(one.account)) return one;
    }
    return {0, standing::none};
  }

  // In the place of another, if the set is full.
  void learn(std::uint64_t path, known one) {
    set& in = of(path);
    const unsigned free = places_of(in.said, 0);
    const unsigned at = free != 0 ? static_cast<unsigned>(__builtin_ctz(free)) / 2 : next_++ % ways;
    in.tags[at] = static_cast<std::uint32_t>(path);
    in.said[at] = one.account | static_cast<std::uint32_t>(one.is) << standing_shift;
  }

  // `stack`, which is to know where the sets are.
  HL_COLD void missed(stack_walk& stack) {
    if (++misses_ != misses_to_grow || shift_ == 64 - last_bits) return;
    auto* larger = static_cast<set*>(own_map(sizeof(set) << last_bits));
    if (larger == nullptr) return;
    sets_ = larger;  // the first, small ones stay part of the thread's memory
    shift_ = 64 - last_bits;
    stack.prefetch_paths_in(sets_, shift_);
  }

  // Code was unloaded: the same addresses will mean other stacks.
  void forget() { __builtin_memset(sets_, 0, sizeof(set) << (64 - shift_)); }

 private:
  static constexpr unsigned ways = 8;
  static constexpr std::uint32_t misses_to_grow = 4096;

  static constexpr unsigned standing_shift = 24;
  static constexpr std::uint32_t account_mask = (1u << standing_shift) - 1;
  static constexpr std::uint32_t said_owned = static_cast<std::uint32_t>(standing::owned) << standing_shift;

  struct alignas(stack_walk::path_place_bytes) set {
    std::uint32_t tags[ways];
    std::uint32_t said[ways];  // account and standing
  };

  set& of(std::uint64_t path) const { return sets_[path >> shift_]; }

  // Two bits for each place that holds the lower half of `value`.
  HL_HOT static unsigned places_of(const std::uint32_t* in, std::uint64_t value) {
    const __m128i wanted = _mm_set1_epi32(static_cast<int>(value));
    // Loaded by the function: of a pointer whose type is deduced the right to alias is lost.
    const auto equal = [wanted](const std::uint32_t* four) {
      return _mm_cmpeq_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(four)), wanted);
    };
    return static_cast<unsigned>(_mm_movemask_epi8(_mm_packs_epi32(equal(in), equal(in + 4))));
  }

  set* sets_ = nullptr;
  unsigned shift_ = 0;
  unsigned next_ = 0;
  std::uint32_t misses_ = 0;
};

}  // namespace heapledger::probe

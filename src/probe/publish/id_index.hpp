// From a hash to a number of 24 bits that stands for something in the segment: open addressing, slots of four bytes,
// eight bits of the hash beside the number.
//
// Lookups take no lock. Additions are serialised by the caller, or made by add_unlocked() beside them; they become
// visible with a release store. What is found must be compared: equal hashes are not equal things.
#pragma once

#include <sys/mman.h>

#include "probe/base/attributes.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

class id_index {
 public:
  static constexpr unsigned id_bits = 24;
  static constexpr std::uint32_t id_mask = (1u << id_bits) - 1;
  struct never {
    bool operator()(std::uint32_t) const { return false; }
  };

  // Empty, of 2^bits slots, and forgetting what was there before: for the first books of a process.
  bool create(unsigned bits = 10) {
    slots_ = nullptr;
    count_ = 0;
    replacements_ = 0;
    return replace(bits, [](auto) {});
  }

  // 0 is no number: not found.
  template <class Equal>
  HL_HOT std::uint32_t find(std::uint64_t hash, Equal equal) const {
    const slots& in = *__atomic_load_n(&slots_, __ATOMIC_ACQUIRE);
    for (std::uint64_t at = hash >> in.shift;; at = (at + 1) & in.mask) {
      const std::uint32_t slot = __atomic_load_n(&in.data[at], __ATOMIC_ACQUIRE);  // pairs with put()
      if (slot == 0) return 0;
      if (HL_LIKELY((slot ^ tag_of(hash)) >> id_bits == 0) && HL_LIKELY(equal(slot & id_mask))) return slot & id_mask;
    }
  }
  void prefetch(std::uint64_t hash) const {
    const slots& in = *__atomic_load_n(&slots_, __ATOMIC_ACQUIRE);
    __builtin_prefetch(&in.data[hash >> in.shift], 1);
  }

  // False: no memory. `hash_of` tells the hash of what was added before.
  template <class HashOf>
  bool add(std::uint64_t hash, std::uint32_t id, HashOf hash_of) {
    const bool room = make_room(hash_of);
    if (room) put(hash, id);
    return room;
  }
  // The same by parts, where `hash_of` is not to be had for nothing: before put(), grow() where it is crowded.
  bool crowded() const { return crowded(*slots_); }
  void put(std::uint64_t hash, std::uint32_t id) {
    put(*slots_, hash, id);
    __atomic_fetch_add(&count_, 1, __ATOMIC_RELAXED);
  }

  // Without the lock, and in a signal handler: what is there for this hash, which is `id` if there was nothing before.
  // 0: take the lock and find_or_add(); others may have found `id` all the same. So it is when the slots are crowded,
  // or are being replaced: what is found or added may not be among those that are to come.
  //
  // `dead(id)`: what stands there will not be looked for as it is, and gives up its slot. It must have the same hash
  // but for that: others like it would make the way to this one longer and longer.
  template <class Equal, class Dead = never>
  std::uint32_t add_unlocked(std::uint64_t hash, std::uint32_t id, Equal equal, Dead dead = {}) {
    const std::uint32_t replacements = __atomic_load_n(&replacements_, __ATOMIC_ACQUIRE);  // pairs with being_replaced
    const slots& in = *__atomic_load_n(&slots_, __ATOMIC_ACQUIRE);
    if (replacements % 2 != 0 || crowded(in)) return 0;
    const std::uint32_t has = find_or_put(in, hash, id, equal, dead);
    // Pairs with being_replaced: whoever replaces the slots sees what is there, or we see that they are replaced.
    return __atomic_load_n(&replacements_, __ATOMIC_SEQ_CST) == replacements ? has : 0;
  }

  // The same for a caller that serialises. 0: no memory. Not find() and then add(): add_unlocked() may come in between.
  template <class Equal, class HashOf, class Dead = never>
  std::uint32_t find_or_add(std::uint64_t hash, std::uint32_t id, Equal equal, HashOf hash_of, Dead dead = {}) {
    return make_room(hash_of) ? find_or_put(*slots_, hash, id, equal, dead) : 0;
  }

  // Calls `f` with every number. The caller serialises.
  template <class F>
  void for_each(F f) const {
    for (std::uint64_t at = 0; at <= slots_->mask; ++at)
      if (const std::uint32_t id = __atomic_load_n(&slots_->data[at], __ATOMIC_ACQUIRE) & id_mask; id != 0) f(id);
  }
  std::uint32_t count() const { return __atomic_load_n(&count_, __ATOMIC_RELAXED); }

  // `each(put)` is to call put(hash, id) for all that is there. False: no memory.
  //
  // A thread may still be looking something up in the old slots: their address range stays, and reads as empty, which
  // sends that thread to where the lock and the new slots tell the truth.
  template <class Each>
  bool grow(const Each& each) {
    return replace(64 - slots_->shift + 1, each);
  }

  // Then calls `add_again`, which puts back what is to stay.
  template <class AddAgain>
  void clear(AddAgain add_again) {
    const being_replaced now(*this);
    give_back(*slots_);
    __atomic_store_n(&count_, 0, __ATOMIC_RELAXED);
    add_again();
  }
  void clear() {
    clear([] {});
  }

 private:
  struct slots {
    std::uint32_t* data;
    std::uint64_t mask;
    unsigned shift;
  };

  template <class Equal, class Dead>
  std::uint32_t find_or_put(const slots& in, std::uint64_t hash, std::uint32_t id, Equal equal, Dead dead) {
    const std::uint32_t ours = id | tag_of(hash);
    for (std::uint64_t at = hash >> in.shift;; at = (at + 1) & in.mask) {
      std::uint32_t slot = __atomic_load_n(&in.data[at], __ATOMIC_SEQ_CST);
      const auto put = [&] {  // else `slot` is what another thread has put there
        return __atomic_compare_exchange_n(&in.data[at], &slot, ours, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
      };
      if (slot == 0 && put()) {
        __atomic_fetch_add(&count_, 1, __ATOMIC_RELAXED);
        return id;
      }
      while ((slot ^ ours) >> id_bits == 0) {
        if (equal(slot & id_mask)) return slot & id_mask;
        if (!dead(slot & id_mask)) break;
        if (put()) return id;
      }
    }
  }

  template <class Each>
  bool replace(unsigned bits, const Each& each) {
    const slots* old = slots_;
    auto* next = static_cast<slots*>(own_piece(sizeof(slots)));
    auto* data = static_cast<std::uint32_t*>(own_map(sizeof(std::uint32_t) << bits));
    if (next == nullptr || data == nullptr) return false;
    *next = {data, (std::uint64_t{1} << bits) - 1, 64 - bits};
    const being_replaced now(*this);
    each([next](std::uint64_t hash, std::uint32_t id) { put(*next, hash, id); });
    __atomic_store_n(&slots_, next, __ATOMIC_SEQ_CST);
    if (old != nullptr) give_back(*old);
    return true;
  }

  template <class HashOf>
  bool make_room(HashOf hash_of) {
    return !crowded() || grow([&](auto put) { for_each_hashed(hash_of, put); });
  }

  // The hashes lie anywhere in memory: many are waited for at once.
  template <class HashOf, class F>
  HL_COLD void for_each_hashed(HashOf hash_of, F f) const {
    constexpr unsigned batch = 32;
    std::uint32_t ids[batch];
    unsigned count = 0;
    const auto work_off = [&] {
      std::uint64_t hashes[batch];
      for (unsigned i = 0; i < count; ++i) hashes[i] = hash_of(ids[i]);
      for (unsigned i = 0; i < count; ++i) f(hashes[i], ids[i]);
      count = 0;
    };
    for_each([&](std::uint32_t id) {
      ids[count++] = id;
      if (count == batch) work_off();
    });
    work_off();
  }

  // Odd from here to the end, also where clear() makes the slots grow.
  class being_replaced {
   public:
    explicit being_replaced(id_index& of) : of_(of), before_(of.replacements_) {
      __atomic_store_n(&of_.replacements_, before_ | 1, __ATOMIC_SEQ_CST);
    }
    ~being_replaced() {
      if (before_ % 2 == 0) __atomic_store_n(&of_.replacements_, before_ + 2, __ATOMIC_RELEASE);
    }
    being_replaced(const being_replaced&) = delete;
    being_replaced& operator=(const being_replaced&) = delete;

   private:
    id_index& of_;
    const std::uint32_t before_;
  };

  bool crowded(const slots& in) const { return std::uint64_t{count()} * 8 > (in.mask + 1) * 7; }
  static std::uint32_t tag_of(std::uint64_t hash) { return static_cast<std::uint32_t>(hash) << id_bits; }
  static void put(const slots& in, std::uint64_t hash, std::uint32_t id) {
    std::uint64_t at = hash >> in.shift;
    std::uint32_t free = 0;  // pairs with the acquire in find()
    for (; !__atomic_compare_exchange_n(&in.data[at], &free, id | tag_of(hash), false, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED);
         free = 0)
      at = (at + 1) & in.mask;
  }
  // The pages read as zeros from now on.
  static void give_back(const slots& from) {
    sys::madvise(from.data, (from.mask + 1) * sizeof(std::uint32_t), MADV_DONTNEED);
  }

  slots* slots_ = nullptr;
  std::uint32_t count_ = 0;
  std::uint32_t replacements_ = 0;  // twice; odd: one is under way
};

}  // namespace heapledger::probe

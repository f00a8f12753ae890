// Where the records of scopes are, and those that are free. A record never moves, and its memory is never given back.
#pragma once

#include "probe/scope/scope.hpp"

namespace heapledger::probe {

inline constexpr std::uint32_t record_limit = 1u << 18;
inline constexpr std::uint64_t one_generation = std::uint64_t{1} << 32;
inline std::uint64_t life_of(std::uint64_t generation, scope_state state) {
  return (generation & ~(one_generation - 1)) | static_cast<std::uint64_t>(state);
}

// Records that are in no other list, last in first out. Any thread may put and take; no locks.
class record_list {
 public:
  scope_record* take();
  void put(scope_record& record);
  bool empty() const { return static_cast<std::uint32_t>(__atomic_load_n(&first_, __ATOMIC_RELAXED)) == 0; }
  void clear();

 private:
  // Index of the first, and above it how many were taken: so no exchange takes a list for the same that has only the
  // same first.
  std::uint64_t first_ = 0;
};

// A free one, of a scope of that kind before if there is one: so it has the account of no stack already. Takes a lock
// only where memory is needed or the free ones are of other kinds. nullptr: there is no room.
scope_record* take_record(std::uint32_t kind);
void put_back(scope_record& record);
void reset_records(bool unmap);

}  // namespace heapledger::probe

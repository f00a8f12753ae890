#include "probe/unwind/registered_frames.hpp"

#include "probe/base/own_memory.hpp"
#include "probe/unwind/step.hpp"

namespace heapledger::probe {

constinit registered_frames registered;

namespace {

// The program may have given the tables' memory back, and nobody has missed them: they are looked at for exceptions.
bool are_there(cfi::bytes tables) {
  constexpr std::uint64_t page_bytes = 4096;
  const auto end = reinterpret_cast<std::uint64_t>(tables.end);
  for (auto at = reinterpret_cast<std::uint64_t>(tables.data); at < end; at = (at / page_bytes + 1) * page_bytes)
    if (!readable(at)) return false;
  return true;
}

}  // namespace

bool registered_frames::find(std::uint64_t address, cfi::function_entry& entry) {
  if (HL_LIKELY(__atomic_load_n(&count_, __ATOMIC_ACQUIRE) == 0)) return false;
  const lock_guard held(lock_);
  for (std::size_t i = count_; i-- > 0;) {
    stretch& in = stretches_[i];
    if (address < in.start || address >= in.end) continue;
    in.walked = true;
    if (are_there(in.tables) && cfi::find_in_section(in.tables, address, entry))
      return true;  // else between its functions
  }
  return false;
}

void registered_frames::clear() {
  const lock_guard held(lock_);
  count_ = 0;
}

// A child that was forked in between has the array and a capacity that it has at least.
bool registered_frames::grow() {
  const std::size_t wanted = capacity_ != 0 ? 2 * capacity_ : 128;
  auto* const larger = static_cast<stretch*>(own_map(wanted * sizeof(stretch)));
  if (larger == nullptr) return false;
  stretch* const old = stretches_;
  if (count_ != 0) __builtin_memcpy(larger, old, count_ * sizeof(stretch));
  __atomic_store_n(&stretches_, larger, __ATOMIC_RELEASE);
  if (old != nullptr) own_unmap(old, capacity_ * sizeof(stretch));
  capacity_ = wanted;
  return true;
}

}  // namespace heapledger::probe

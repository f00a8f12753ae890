#include "probe/account/large_blocks.hpp"

#include "probe/account/watch_view.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

// Linear probing; a removal moves later entries of the run back, so that no tombstones pile up.
struct shard {
  std::uint32_t lock;
  std::uint32_t bits;
  std::uint64_t count;
  large_block* slots;

  std::uint64_t mask() const { return (std::uint64_t{1} << bits) - 1; }
  std::uint64_t home(std::uint64_t address) const { return (address * 0x9e3779b97f4a7c15u) >> (64 - bits); }
  std::uint64_t find(std::uint64_t address) const {
    std::uint64_t at = home(address);
    while (slots[at].address != 0 && slots[at].address != address) at = (at + 1) & mask();
    return at;
  }
  void remove(std::uint64_t hole) {
    for (std::uint64_t at = hole;;) {
      at = (at + 1) & mask();
      if (slots[at].address == 0) break;
      const std::uint64_t wanted = home(slots[at].address);
      if (((at - wanted) & mask()) < ((at - hole) & mask())) continue;
      slots[hole] = slots[at];
      hole = at;
    }
    slots[hole].address = 0;
    --count;
  }
  bool grow() {
    constexpr std::uint32_t first_bits = 6;
    shard larger{0, slots == nullptr ? first_bits : bits + 1, count, nullptr};
    larger.slots = static_cast<large_block*>(own_map(sizeof(large_block) << larger.bits));
    if (larger.slots == nullptr) return false;
    for (std::uint64_t i = 0; slots != nullptr && i <= mask(); ++i)
      if (slots[i].address != 0) larger.slots[larger.find(slots[i].address)] = slots[i];
    if (slots != nullptr) own_unmap(slots, sizeof(large_block) << bits);
    bits = larger.bits;
    slots = larger.slots;
    return true;
  }
};

constexpr unsigned shard_count = 16;
constinit shard shards[shard_count] = {};

shard& shard_of(std::uint64_t address) {
  return shards[(address >> 16 ^ address >> 21) % shard_count];
}

}  // namespace

bool add_large(const large_block& block) {
  look_at_watch();
  shard& in = shard_of(block.address);
  lock_guard held(in.lock);
  if ((in.slots == nullptr || in.count * 4 > in.mask() * 3) && !in.grow() &&
      (in.slots == nullptr || in.count == in.mask())) {
    count_loss(wire::loss::large_full);
    return false;
  }
  large_block& slot = in.slots[in.find(block.address)];
  if (slot.address == 0) {
    ++in.count;
    __atomic_fetch_add(&segment.header->large_blocks, 1, __ATOMIC_RELAXED);
  }
  slot = block;
  return true;
}

bool take_large(const void* address, large_block& out) {
  const auto key = reinterpret_cast<std::uint64_t>(address);
  shard& in = shard_of(key);
  if (__atomic_load_n(&in.slots, __ATOMIC_RELAXED) == nullptr) return false;
  lock_guard held(in.lock);
  const std::uint64_t at = in.find(key);
  if (in.slots[at].address == 0) return false;
  out = in.slots[at];
  in.remove(at);
  __atomic_fetch_sub(&segment.header->large_blocks, 1, __ATOMIC_RELAXED);
  return true;
}

void reset_large_locks() {
  for (shard& each : shards) each.lock = 0;
}

}  // namespace heapledger::probe

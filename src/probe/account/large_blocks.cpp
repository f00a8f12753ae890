#include "probe/account/large_blocks.hpp"

#include "probe/account/watch_view.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

// The slots, and the binary logarithm of their number in the lowest bits of their address: one word, so that the child
// of a fork, which keeps this table, finds both old or both new.
class slot_array {
 public:
  bool create(std::uint32_t bits) {
    auto* slots = static_cast<large_block*>(own_map(sizeof(large_block) << bits));
    word_ = slots == nullptr ? 0 : reinterpret_cast<std::uintptr_t>(slots) | bits;
    return slots != nullptr;
  }
  void store(const slot_array& other) { __atomic_store_n(&word_, other.word_, __ATOMIC_RELEASE); }
  void unmap() const { own_unmap(slots(), sizeof(large_block) << bits()); }

  explicit operator bool() const { return __atomic_load_n(&word_, __ATOMIC_RELAXED) != 0; }
  large_block& operator[](std::uint64_t at) const { return slots()[at]; }
  std::uint32_t bits() const { return static_cast<std::uint32_t>(word_ & bits_mask); }
  std::uint64_t mask() const { return (std::uint64_t{1} << bits()) - 1; }

 private:
  static constexpr std::uintptr_t bits_mask = 63;
  large_block* slots() const { return reinterpret_cast<large_block*>(word_ & ~bits_mask); }

  std::uintptr_t word_;
};

// Linear probing; a removal moves later entries of the run back, so that no tombstones pile up.
struct shard {
  std::uint32_t lock;
  std::uint64_t count;
  slot_array slots;

  std::uint64_t home(std::uint64_t address) const { return (address * 0x9e3779b97f4a7c15u) >> (64 - slots.bits()); }
  std::uint64_t find(std::uint64_t address) const {
    std::uint64_t at = home(address);
    while (slots[at].address != 0 && slots[at].address != address) at = (at + 1) & slots.mask();
    return at;
  }
  void remove(std::uint64_t hole) {
    for (std::uint64_t at = hole;;) {
      at = (at + 1) & slots.mask();
      if (slots[at].address == 0) break;
      const std::uint64_t wanted = home(slots[at].address);
      if (((at - wanted) & slots.mask()) < ((at - hole) & slots.mask())) continue;
      slots[hole] = slots[at];
      hole = at;
    }
    slots[hole].address = 0;
    --count;
  }
  bool grow() {
    constexpr std::uint32_t first_bits = 6;
    shard larger{};
    if (!larger.slots.create(slots ? slots.bits() + 1 : first_bits)) return false;
    for (std::uint64_t i = 0; slots && i <= slots.mask(); ++i)
      if (slots[i].address != 0) larger.slots[larger.find(slots[i].address)] = slots[i];
    const slot_array before = slots;
    slots.store(larger.slots);
    if (before) before.unmap();  // last: a fork in between
    return true;
  }
};

constexpr unsigned shard_count = 16;
constinit shard shards[shard_count] = {};
constinit std::uint32_t own_birth = 0;

// What the tool is told are blocks of this process: it never heard of those that a forked child inherited.
void count(int change) {
  if (change != 0)
    __atomic_fetch_add(&segment.header->large_blocks, static_cast<std::uint64_t>(change), __ATOMIC_RELAXED);
}

shard& shard_of(std::uint64_t address) {
  return shards[(address >> 16 ^ address >> 21) % shard_count];
}

}  // namespace

bool add_large(const large_block& block) {
  look_at_watch();
  shard& in = shard_of(block.address);
  lock_guard held(in.lock);
  if ((!in.slots || in.count * 4 > in.slots.mask() * 3) && !in.grow() && (!in.slots || in.count == in.slots.mask())) {
    count_loss(wire::loss::large_full);
    return false;
  }
  large_block& slot = in.slots[in.find(block.address)];
  const bool known = slot.address != 0;
  if (!known) ++in.count;
  count((block.birth == own_birth) - (known && slot.birth == own_birth));
  slot = block;
  return true;
}

bool find_large(const void* address, large_block& out) {
  const auto key = reinterpret_cast<std::uint64_t>(address);
  shard& in = shard_of(key);
  if (!in.slots) return false;
  lock_guard held(in.lock);
  out = in.slots[in.find(key)];
  return out.address != 0;
}

bool take_large(const void* address, large_block& out) {
  const auto key = reinterpret_cast<std::uint64_t>(address);
  shard& in = shard_of(key);
  if (!in.slots) return false;
  lock_guard held(in.lock);
  const std::uint64_t at = in.find(key);
  if (in.slots[at].address == 0) return false;
  out = in.slots[at];
  in.remove(at);
  count(-(out.birth == own_birth));
  return true;
}

void begin_large_blocks(std::uint32_t birth) {
  own_birth = birth;
  for (shard& each : shards) each.lock = 0;
}

}  // namespace heapledger::probe

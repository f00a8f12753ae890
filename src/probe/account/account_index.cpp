#include "probe/account/account_index.hpp"

#include <sys/mman.h>

#include "probe/base/own_memory.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {

constinit account_index accounts;

namespace {
constexpr unsigned first_bits = 10;
}

void account_index::put(const slots& in, std::uint64_t path, std::uint32_t account) {
  std::uint64_t at = path >> in.shift;
  while (in.data[at] != 0) at = (at + 1) & in.mask;
  __atomic_store_n(&in.data[at], account | tag_of(path), __ATOMIC_RELEASE);  // pairs with the acquire in find()
}

// A thread may still be looking something up in the old slots: their address range stays, and their pages, given back,
// read as zeros, which sends that thread to the slow path, where the lock and the new slots tell the truth.
bool account_index::grow() {
  const slots* old = slots_;
  const unsigned bits = old == nullptr ? first_bits : 64 - old->shift + 1;
  auto* next = static_cast<slots*>(own_piece(sizeof(slots)));
  auto* data = static_cast<std::uint32_t*>(own_map(sizeof(std::uint32_t) << bits));
  if (next == nullptr || data == nullptr) return false;
  *next = {data, (std::uint64_t{1} << bits) - 1, 64 - bits};
  for (std::uint64_t at = 0; old != nullptr && at <= old->mask; ++at) {
    const std::uint32_t account = old->data[at] & (tag::account_limit - 1);
    if (account != 0) put(*next, segment.account_keys[account].path, account);
  }
  __atomic_store_n(&slots_, next, __ATOMIC_RELEASE);
  if (old != nullptr) sys::madvise(old->data, (old->mask + 1) * sizeof(std::uint32_t), MADV_DONTNEED);
  return true;
}

bool account_index::create() {
  slots_ = nullptr;
  count_ = 0;
  return grow();
}

bool account_index::add(std::uint64_t path, std::uint32_t account) {
  if (std::uint64_t{count_} * 4 > (slots_->mask + 1) * 3 && !grow()) return false;
  put(*slots_, path, account);
  ++count_;
  return true;
}

void account_index::clear() {
  sys::madvise(slots_->data, (slots_->mask + 1) * sizeof(std::uint32_t), MADV_DONTNEED);
  count_ = 0;
}

}  // namespace heapledger::probe

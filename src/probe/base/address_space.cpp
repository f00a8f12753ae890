#include "probe/base/address_space.hpp"

#include <sys/resource.h>

#include <algorithm>

#include "probe/base/lock.hpp"
#include "probe/base/sandbox.hpp"
#include "probe/base/syscalls.hpp"

namespace heapledger::probe {
namespace {

constexpr std::uint64_t infinity = ~std::uint64_t{0};
// What is asked beyond the program's hard limit, which it never sees: what we map later, and a forked child's segment,
// need room below it, and raising it is not everybody's right.
constexpr std::uint64_t reserve_bytes = std::uint64_t{16} << 30;

struct kept_limit {
  int resource;
  std::uint64_t held = 0;
  bool set = false;
  limit programs = {};
  limit kernels = {};
};

constinit kept_limit kept[] = {{.resource = RLIMIT_AS}, {.resource = RLIMIT_DATA}};
constinit std::uint32_t limits_lock = 0;
constinit int owner = 0;

kept_limit* find(int resource) {
  for (kept_limit& each : kept)
    if (each.resource == resource) return &each;
  return nullptr;
}

std::uint64_t held(const kept_limit& of) {
  return __atomic_load_n(&of.held, __ATOMIC_RELAXED);
}
bool is_set(const kept_limit& of) {
  return __atomic_load_n(&of.set, __ATOMIC_RELAXED);
}

std::uint64_t sum(std::uint64_t a, std::uint64_t b) {
  return a > infinity - b ? infinity : a + b;
}

bool read(int resource, limit& out) {
  return sys::call(__NR_prlimit64, 0, static_cast<unsigned>(resource), 0, sys::word(&out)) == 0;
}
bool write(int resource, const limit& now) {
  return sys::call(__NR_prlimit64, 0, static_cast<unsigned>(resource), sys::word(&now), 0) == 0;
}

// Under the lock, as what follows.
bool is_in_force(const kept_limit& of, limit& now) {
  return of.set && read(of.resource, now) && now == of.kernels;
}

void follow(kept_limit& of) {
  limit now;
  if (!of.set) return;
  if (!is_in_force(of, now)) {
    __atomic_store_n(&of.set, false, __ATOMIC_RELAXED);
    return;
  }
  const limit next{std::min(sum(of.programs.soft, held(of)), now.hard), now.hard};
  if (next != now && write(of.resource, next)) of.kernels = next;
}

void follow_all() {
  if (!has_limits() || calls_may_be_refused) return;
  const lock_guard alone(limits_lock);
  if (sys::getpid() != owner) return;  // the kernel's are another process's
  for (kept_limit& each : kept) follow(each);
}

}  // namespace

void hold(std::uint64_t bytes, std::uint64_t data_bytes) {
  __atomic_add_fetch(&kept[0].held, bytes, __ATOMIC_RELAXED);
  __atomic_add_fetch(&kept[1].held, data_bytes, __ATOMIC_RELAXED);
  follow_all();
}

void let_go(std::uint64_t bytes, std::uint64_t data_bytes) {
  __atomic_sub_fetch(&kept[0].held, bytes, __ATOMIC_RELAXED);
  __atomic_sub_fetch(&kept[1].held, data_bytes, __ATOMIC_RELAXED);
  follow_all();
}

void begin_limits() {
  const int pid = calls_may_be_refused ? 0 : sys::getpid();  // nobody: they are let be
  if (pid == owner) return;
  owner = pid;
  __atomic_store_n(&limits_lock, 0u, __ATOMIC_RELAXED);  // a thread that is not here may have held it
  follow_all();
}

bool has_limits() {
  return is_set(kept[0]) || is_set(kept[1]);
}

bool is_kept(int resource) {
  return find(resource) != nullptr && sys::getpid() == owner;
}

limit with_ours(int resource, const limit& wanted) {
  if (wanted.soft > wanted.hard) return wanted;  // which the kernel refuses
  const kept_limit& of = *find(resource);
  const lock_guard alone(limits_lock);
  limit now;
  if (!read(resource, now)) return wanted;
  const std::uint64_t shown = of.set && now == of.kernels ? of.programs.hard : now.hard;
  const std::uint64_t raised = sum(wanted.hard, held(of) + reserve_bytes);
  limit result = now;
  if (wanted.hard > shown) result.hard = std::max(raised, sum(now.hard, 1));  // the kernel decides whether it may
  if (wanted.hard < shown) result.hard = std::min(raised, now.hard);
  result.soft = std::min(sum(wanted.soft, held(of)), result.hard);
  return result;
}

void note_limit(int resource, const limit& wanted, const limit& given) {
  kept_limit& of = *find(resource);
  const lock_guard alone(limits_lock);
  of.programs = wanted;
  of.kernels = given;
  __atomic_store_n(&of.set, true, __ATOMIC_RELAXED);
  follow(of);
}

limit without_ours(int resource, const limit& kernels) {
  const kept_limit* const of = find(resource);
  if (of == nullptr || !is_set(*of)) return kernels;
  const lock_guard alone(limits_lock);
  return of->set && kernels == of->kernels ? of->programs : kernels;
}

std::uint64_t address_space_to_spare() {
  const kept_limit& of = kept[0];
  if (!is_set(of)) return 0;
  const lock_guard alone(limits_lock);
  limit now;
  if (!is_in_force(of, now) || sys::getpid() != owner) return 0;
  const std::uint64_t wanted = sum(of.programs.soft, held(of));
  return now.hard == infinity ? infinity : now.hard - std::min(now.hard, wanted);
}

limits_for_execution::limits_for_execution(bool is_likely) {
  if (!is_likely || !has_limits()) return;
  const lock_guard alone(limits_lock);
  for (unsigned i = 0; i < 2; ++i)
    lowered_[i] = is_in_force(kept[i], before_[i]) && write(kept[i].resource, kept[i].programs);
}

limits_for_execution::~limits_for_execution() {
  for (unsigned i = 0; i < 2; ++i)
    if (lowered_[i]) write(kept[i].resource, before_[i]);
}

}  // namespace heapledger::probe

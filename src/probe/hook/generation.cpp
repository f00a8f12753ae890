#include "probe/hook/generation.hpp"

#include <sys/mman.h>

#include "probe/account/cells.hpp"
#include "probe/account/errors.hpp"
#include "probe/base/lock.hpp"
#include "probe/base/syscalls.hpp"
#include "probe/hook/process.hpp"
#include "probe/mapping/sites.hpp"
#include "probe/pool/sites.hpp"
#include "probe/publish/modules.hpp"
#include "probe/publish/stack_tree.hpp"
#include "probe/unwind/registered_frames.hpp"
#include "probe/unwind/rule_cache.hpp"

namespace heapledger::probe {
namespace {

constinit std::uint64_t last_generation = books::first_generation;
constinit std::uint64_t code_generation = 0;  // the last one that was begun because code had gone
constinit std::uint32_t generation_lock = 0;
constinit std::uint32_t code_lock = 0;  // one at a time follows what was loaded and unloaded
constinit bool is_wiped_on_fork = false;

}  // namespace

void reset_generations() {
  generation_lock = code_lock = 0;
}

void start_generation() {
  is_wiped_on_fork = sys::madvise(&process, sizeof process, MADV_WIPEONFORK) == 0;
  code_generation = ++last_generation;
  __atomic_store_n(&process.generation, last_generation, __ATOMIC_RELEASE);
}

void leave_parents_generation() {
  if (!is_wiped_on_fork) process = {};
}

void catch_up(books& own) {
  if (own.generation == process.generation) return;
  lock_guard held(generation_lock);
  if (own.known_generation < code_generation)
    own.forget_code();
  else
    own.forget_accounts();
  own.generation = own.known_generation = process.generation;
}

namespace {

// Places were retired, or restored, in code that came after `before`: what leads through them is not found any more, or
// again.
void follow_code(const wire::counts_before& before) {
  tree.follow_code(before.nodes);
  follow_code_of_accounts(before.accounts);
  follow_code_of_pool_sites();
  follow_code_of_mapping_sites();
  follow_code_of_errors();
}

// What was remembered of stacks may have come to mean others.
void begin_code_generation() {
  lock_guard held(generation_lock);
  if (process.generation == 0) return;
  code_generation = ++last_generation;
  __atomic_store_n(&process.generation, last_generation, __ATOMIC_RELEASE);
}

// Ranges of code that are gone, one by one.
class code_gone {
 public:
  void operator()(std::uint64_t start, std::uint64_t end, const wire::counts_before& before) {
    rules.forget(start, end);
    if (process.generation == 0) return;
    tree.retire(start, end, before.places);
    if (oldest_.nodes == 0 || before.nodes < oldest_.nodes) oldest_ = before;
  }
  ~code_gone() {
    if (oldest_.nodes == 0) return;
    follow_code(oldest_);
    begin_code_generation();
  }

 private:
  const lock_guard held_{code_lock};
  wire::counts_before oldest_{};
};

}  // namespace

HL_COLD void loader_freed() {
  const bool forgotten = rules.forget_unloaded();
  if (process.generation == 0) return;
  const lock_guard held(code_lock);
  const wire::module* const gone =
      modules.sweep([](const wire::module& each) { tree.retire(each.start, each.end, each.before.places); });
  if (gone != nullptr) follow_code(gone->before);
  if (forgotten || gone != nullptr) begin_code_generation();
}

HL_COLD void code_came(std::uint64_t address) {
  if (process.generation == 0 || !modules.any_gone()) return;
  const lock_guard held(code_lock);
  const wire::module* const back = modules.revive(address);
  if (back == nullptr) return;
  tree.restore(module_table::index_of(*back), back->before.places);
  follow_code(back->before);
}

HL_COLD void code_made(const void* section) {
  code_gone gone;
  registered.add(static_cast<const std::uint8_t*>(section), gone);
}

HL_COLD void code_unmade(const void* section) {
  code_gone gone;
  registered.remove(static_cast<const std::uint8_t*>(section), gone);
}

HL_COLD void forget_recent_accounts() {
  if (process.generation == 0) return;  // a forked child that has not begun its books
  lock_guard held(generation_lock);
  if (process.generation == 0) return;
  __atomic_store_n(&process.generation, ++last_generation, __ATOMIC_RELEASE);
}

void end_generation() {
  lock_guard held(generation_lock);
  __atomic_store_n(&process.generation, 0, __ATOMIC_RELEASE);
}

}  // namespace heapledger::probe

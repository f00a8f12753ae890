// Whether what the program allocates is counted: tried out, since an allocator of the program's own, or its operators
// new and delete, may keep it from the probe.
#pragma once

#include <heapledger/scope.hpp>

#include <atomic>
#include <cstdlib>
#include <new>

namespace heapledger::detail {

// Whether what `work` allocates and frees is counted in the scope.
template <class Work>
bool counts(scope in, Work work) {
  const std::uint64_t before = in.used().allocations;
  run_in(in, work);
  const usage after = in.used();
  return after.allocations != before && after.live_blocks == 0;
}

// Why nothing can be measured, or nullptr. Tried until it is counted once; in a scope below none, whose budgets would
// count it, too.
inline const char* why_not_counted() {
  static std::atomic<bool> counted{false};
  if (heapledger_active == nullptr)
    return "the probe is not in the process; link heapledger::heapledger, or start it by heapledger run";
  if (!active())
    return "the probe keeps no books of this program: its malloc is not the probe's, as with a sanitizer or an "
           "allocator of its own, or the probe is off";
  if (counted.load(std::memory_order_relaxed)) return nullptr;
  const owned_scope trial("measured", budget{}, scope::process());
  if (trial == scope::process()) return "there is no room for another scope";
  // What is volatile is not left out by the compiler.
  if (!counts(trial, [] {
        void* const volatile block = std::malloc(1);
        std::free(block);
      }))
    return "the program's malloc and free are its own, and not counted";
  if (!counts(trial, [] {
        void* const volatile block = ::operator new(1);
        ::operator delete(block);
      }))
    return "the program's operators new and delete are its own, and do not allocate by malloc each time";
  counted.store(true, std::memory_order_relaxed);
  return nullptr;
}

}  // namespace heapledger::detail

// Included before everything else when the probe's sources are compiled for the interleaving test: each atomic
// operation becomes a point at which another thread may go on, and each wait for another thread a switch to one.
#pragma once

#include <asm/unistd.h>
#include <emmintrin.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace model {

void step();     // another thread may go on here
void wait();     // another one must
void barrier();  // membarrier(2): what any thread stored is visible

// x86 may keep a store from other processors for a while. That is modelled where the code's argument hangs on it: for
// the scope that a thread says it is in (`current_index`).
bool may_linger(const void* at);
void keep_back(std::uint32_t* at, std::uint32_t value);
const std::uint32_t* kept_back(const void* at);  // by this thread
void before_store(const void* at);               // this thread's earlier stores become visible first
void before_exchange();

template <class T, class V>
void store(T* at, V value, int) {
  step();
  if constexpr (std::is_same_v<T, std::uint32_t>)
    if (may_linger(at)) return keep_back(at, static_cast<std::uint32_t>(value));
  before_store(at);
  __atomic_store_n(at, static_cast<T>(value), __ATOMIC_SEQ_CST);
}
template <class T>
T load(T* at, int) {
  step();
  if constexpr (std::is_same_v<std::remove_const_t<T>, std::uint32_t>)
    if (const std::uint32_t* own = kept_back(at); own != nullptr) return *own;
  return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
inline int exchanging() {
  step();
  before_exchange();
  return 0;
}

struct no_system_call {};

}  // namespace model

namespace heapledger::probe::sys {

template <class... Arguments>
long call(model::no_system_call, Arguments...) {
  return 0;
}

}  // namespace heapledger::probe::sys

#define __atomic_load_n(at, order) model::load(at, order)
#define __atomic_store_n(at, value, order) model::store(at, value, order)
#define __atomic_exchange_n(...) (model::exchanging(), __atomic_exchange_n(__VA_ARGS__))
#define __atomic_compare_exchange_n(...) (model::exchanging(), __atomic_compare_exchange_n(__VA_ARGS__))
#define __atomic_fetch_add(...) (model::exchanging(), __atomic_fetch_add(__VA_ARGS__))
#define __atomic_fetch_sub(...) (model::exchanging(), __atomic_fetch_sub(__VA_ARGS__))
#define __atomic_fetch_or(...) (model::exchanging(), __atomic_fetch_or(__VA_ARGS__))
#define __atomic_fetch_and(...) (model::exchanging(), __atomic_fetch_and(__VA_ARGS__))
#define __atomic_add_fetch(...) (model::exchanging(), __atomic_add_fetch(__VA_ARGS__))

// What would make the one real thread wait, does to real threads what the model does to its own, or is about signals,
// of which there are none: no call of the system, which took a third of a search's time.
#undef __NR_futex
#define __NR_futex (model::wait(), model::no_system_call())
#undef __NR_sched_yield
#define __NR_sched_yield (model::wait(), model::no_system_call())
#undef __NR_membarrier
#define __NR_membarrier (model::barrier(), model::no_system_call())
#undef __NR_rt_sigprocmask
#define __NR_rt_sigprocmask model::no_system_call()

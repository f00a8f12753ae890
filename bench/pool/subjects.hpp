// What is compared: our pools, malloc (whose library the caller preloads), boost::pool and std::pmr.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <memory_resource>

#include "heapledger/pool.hpp"

#if __has_include(<boost/pool/pool.hpp>)
#include <boost/pool/pool.hpp>
#include <boost/pool/singleton_pool.hpp>
#define BENCH_HAS_BOOST 1
#endif

namespace bench {

template <std::size_t Bytes, class Threading, class Checks>
using ours = heapledger::pool<Bytes, Threading, heapledger::no_header, heapledger::no_analyzer, Checks>;

// A list of chunks in one block and nothing else: what cannot be less.
template <std::size_t Bytes>
class free_list {
  struct node {
    node* next;
  };
  static constexpr std::size_t chunks = 16'384;
  std::unique_ptr<std::byte[]> memory_ = std::make_unique<std::byte[]>(chunks * Bytes);
  node* first_ = nullptr;

 public:
  free_list() {
    for (std::size_t i = chunks; i-- > 0;) deallocate(&memory_[i * Bytes]);
  }
  void* allocate() {
    node* const one = first_;
    if (one == nullptr) [[unlikely]]
      std::abort();
    first_ = one->next;
    return one;
  }
  void deallocate(void* chunk) {
    auto* const one = static_cast<node*>(chunk);
    one->next = first_;
    first_ = one;
  }
};

template <std::size_t Bytes>
struct from_malloc {
  void* allocate() { return std::malloc(Bytes); }
  void deallocate(void* chunk) { std::free(chunk); }
};

template <std::size_t Bytes, class Resource>
struct from_pmr {
  Resource resource;
  void* allocate() { return static_cast<std::pmr::memory_resource&>(resource).allocate(Bytes, 8); }
  void deallocate(void* chunk) { static_cast<std::pmr::memory_resource&>(resource).deallocate(chunk, Bytes, 8); }
};

#ifdef BENCH_HAS_BOOST
template <std::size_t Bytes>
struct boost_single {
  boost::pool<> pool{Bytes};
  void* allocate() { return pool.malloc(); }
  void deallocate(void* chunk) { pool.free(chunk); }
};
struct boost_tag;
template <std::size_t Bytes>
struct boost_shared {
  using pool = boost::singleton_pool<boost_tag, Bytes>;
  void* allocate() { return pool::malloc(); }
  void deallocate(void* chunk) { pool::free(chunk); }
};
#endif

}  // namespace bench

#include "hidden_library.hpp"

namespace heapledger::tests {

template <class Threading>
static library_pool<Threading>& the_pool() {
  static library_pool<Threading> pool("library");
  return pool;
}

library_pool<threading::single>& pool_of_library(threading::single) {
  return the_pool<threading::single>();
}
library_pool<threading::shared>& pool_of_library(threading::shared) {
  return the_pool<threading::shared>();
}
library_pool<threading::thread_cached>& pool_of_library(threading::thread_cached) {
  return the_pool<threading::thread_cached>();
}
void* allocate_in_library(threading::single) {
  return the_pool<threading::single>().allocate();
}
void* allocate_in_library(threading::shared) {
  return the_pool<threading::shared>().allocate();
}
void* allocate_in_library(threading::thread_cached) {
  return the_pool<threading::thread_cached>().allocate();
}

}  // namespace heapledger::tests

// Built with -fno-exceptions: exceptions_test.cpp calls it.
#include "heapledger/pool/allocator.hpp"

namespace heapledger::tests {

void* allocate_without_exceptions(pool<48>& pool, std::size_t bytes) {
  return pool.allocate(bytes);
}
int* allocate_without_exceptions(pool_allocator<int> from, std::size_t count) {
  return from.allocate(count);
}

}  // namespace heapledger::tests

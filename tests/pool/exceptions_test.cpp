// Units with and without exceptions use one pool: what is thrown does not depend on which of them the linker took
// functions from.
#include "heapledger/pool/allocator.hpp"
#include "support.hpp"

namespace heapledger::tests {

void* allocate_without_exceptions(pool<48>& pool, std::size_t bytes);  // no_exceptions.cpp
int* allocate_without_exceptions(pool_allocator<int> from, std::size_t count);

namespace {

TEST(pool_exceptions, do_not_depend_on_the_unit) {
  pool<48> pool;
  EXPECT_THROW((void)pool.allocate(49), std::bad_alloc);
  EXPECT_THROW((void)allocate_without_exceptions(pool, 49), std::bad_alloc);
  pool_set<> pools;
  pool_allocator<int> from(&pools);
  EXPECT_THROW((void)from.allocate(~std::size_t{0} / 2), std::bad_array_new_length);
  EXPECT_THROW((void)allocate_without_exceptions(from, ~std::size_t{0} / 2), std::bad_array_new_length);
}

}  // namespace
}  // namespace heapledger::tests

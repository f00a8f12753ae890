// Pools that a program and its library use, where neither shows its symbols to the other.
#include "hidden_library.hpp"
#include "support.hpp"

namespace heapledger::tests {
namespace {

template <class Threading>
class pool_of_two_binaries : public ::testing::Test {};
TYPED_TEST_SUITE(pool_of_two_binaries, every_threading, threading_names);

TYPED_TEST(pool_of_two_binaries, is_one_pool) {
  const caught found;
  pool<16, TypeParam, no_header, no_analyzer, exact_checks> other;
  void* const ours = other.allocate();
  auto& shared_pool = pool_of_library(TypeParam{});
  void* const from_library = allocate_in_library(TypeParam{});
  void* const from_program = shared_pool.allocate();
  EXPECT_TRUE(shared_pool.owns(from_library));
  EXPECT_TRUE(shared_pool.owns(from_program));
  EXPECT_FALSE(other.owns(from_program));
  EXPECT_EQ(shared_pool.chunks_in_use(), 2u);
  shared_pool.deallocate(from_library);
  shared_pool.deallocate(from_program);
  other.deallocate(ours);
  shared_pool.deallocate(from_program);
  EXPECT_EQ(found.kinds(), std::vector{violation_kind::double_free}) << "said by the library's pool, heard here";
}

}  // namespace
}  // namespace heapledger::tests

#include "tool/analyse/path_hash.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace heapledger::analyse {
namespace {

path_hash hash_of(std::initializer_list<std::uint64_t> path) {
  path_hash hash;
  for (const auto value : path) hash.add(value);
  return hash;
}

TEST(path_hash, zeros_count) {
  EXPECT_NE(hash_of({}), hash_of({0}));
  EXPECT_NE(hash_of({0}), hash_of({0, 0}));
  EXPECT_NE(hash_of({0, 0, 0, 1}), hash_of({0, 1}));
  EXPECT_NE(hash_of({1, 2}), hash_of({2, 1}));
  EXPECT_EQ(hash_of({0, 0, 7}), hash_of({0, 0, 7}));
}

}  // namespace
}  // namespace heapledger::analyse

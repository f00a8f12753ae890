#include <gtest/gtest.h>
#include <heapledger/detail/exception_filter.hpp>

#include <cstring>
#include <string_view>

#if defined(__x86_64__)

using heapledger::detail::exception_filter;
using heapledger::detail::instruction;
using heapledger::detail::instruction_reader;
using namespace std::string_view_literals;

namespace {

enum class branch { taken, not_taken, unknown };

// Of the first branch in a landing pad's code, when the number in rdx is `filter`.
branch first_branch(std::string_view code, std::int64_t filter) {
  unsigned char bytes[64];
  std::memset(bytes, 0xcc, sizeof bytes);
  std::memcpy(bytes, code.data(), code.size());
  exception_filter known(filter);
  for (const unsigned char* at = bytes;;) {
    const instruction is = instruction_reader::at(at);
    if (is.goes == instruction::flow::branch)
      return !known.decides(is) ? branch::unknown : known.takes(is) ? branch::taken : branch::not_taken;
    EXPECT_NE(is.goes, instruction::flow::ends);
    if (is.goes == instruction::flow::ends) return branch::unknown;
    is.goes == instruction::flow::call ? known.call() : known.step(is);
    at = is.next;
  }
}

// As GCC 14 and clang 19 make them.
TEST(exception_filter, is_compared_with_a_number) {
  constexpr auto code = "\x48\x83\xfa\x02\x74\x10"sv;  // cmp $2,%rdx; je
  EXPECT_EQ(first_branch(code, 2), branch::taken);
  EXPECT_EQ(first_branch(code, 1), branch::not_taken);
}

TEST(exception_filter, outlives_what_is_destroyed_before_the_comparison) {
  // mov %rax,%rdi; mov %rdx,%rax; mov -0x150(%rbp),%rdx; addl $1,(%rdx); cmp $4,%rax; je
  constexpr auto counted = "\x48\x89\xc7\x48\x89\xd0\x48\x8b\x95\xb0\xfe\xff\xff\x83\x02\x01\x48\x83\xf8\x04\x74\x10"sv;
  EXPECT_EQ(first_branch(counted, 4), branch::taken);
  EXPECT_EQ(first_branch(counted, 2), branch::not_taken);
  constexpr auto moved = "\x0f\x11\x04\x24\x66\x0f\xef\xc0\x48\x83\xfa\x01\x74\x10"sv;  // movups; pxor; cmp $1,%rdx; je
  EXPECT_EQ(first_branch(moved, 1), branch::taken);
}

TEST(exception_filter, is_found_in_a_range) {
  constexpr auto code = "\x48\x89\xd3\x48\x83\xeb\x02\x48\x83\xfb\x01\x77\x10"sv;  // mov %rdx,%rbx; sub $2; cmp $1; ja
  EXPECT_EQ(first_branch(code, 1), branch::taken);
  EXPECT_EQ(first_branch(code, 2), branch::not_taken);
  EXPECT_EQ(first_branch(code, 3), branch::not_taken);
  EXPECT_EQ(first_branch(code, 4), branch::taken);
  constexpr auto of_32_bits = "\x83\xea\x02\x83\xfa\x01\x0f\x86\x10\x00\x00\x00"sv;  // sub $2,%edx; cmp $1,%edx; jbe
  EXPECT_EQ(first_branch(of_32_bits, 1), branch::not_taken);
  EXPECT_EQ(first_branch(of_32_bits, 3), branch::taken);
}

TEST(exception_filter, is_not_guessed) {
  EXPECT_EQ(first_branch("\xff\xca\x77\x10"sv, 1), branch::unknown) << "dec leaves the carry";
  EXPECT_EQ(first_branch("\xff\xca\x74\x10"sv, 1), branch::taken);
  EXPECT_EQ(first_branch("\x83\xc2\x01\x83\xfa\x02\x74\x10"sv, 1), branch::unknown) << "add to it";
  EXPECT_EQ(first_branch("\xf7\xe1\x83\xfa\x01\x74\x10"sv, 1), branch::unknown) << "mul";
  EXPECT_EQ(first_branch("\xe8\x00\x00\x00\x00\x83\xfa\x01\x74\x10"sv, 1), branch::unknown) << "call";
  EXPECT_EQ(first_branch("\x89\x55\xdc\x83\x45\xdc\x01\x83\x7d\xdc\x01\x74\x10"sv, 1), branch::unknown)
      << "add to where it was stored";
}

}  // namespace

#endif

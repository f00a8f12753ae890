#include "tool/inject/call_filter.hpp"

#include <gtest/gtest.h>
#include <linux/audit.h>
#include <sys/syscall.h>

#include <cstddef>
#include <vector>

namespace heapledger::inject {
namespace {

constexpr std::uint32_t kill = SECCOMP_RET_KILL_PROCESS;
constexpr std::uint32_t allow = SECCOMP_RET_ALLOW;

sock_filter step(int code, std::uint32_t k, std::uint8_t if_true = 0, std::uint8_t if_false = 0) {
  return {static_cast<std::uint16_t>(code), if_true, if_false, k};
}

sock_filter load(std::size_t offset) {
  return step(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
}

std::uint32_t action(const std::vector<sock_filter>& filter, int number, std::uint64_t first_argument = 0) {
  seccomp_data call{};
  call.nr = number;
  call.arch = AUDIT_ARCH_X86_64;
  call.args[0] = first_argument;
  return action_of(filter, call);
}

TEST(inject_call_filter, lists_of_calls) {
  const std::vector<sock_filter> filter = {load(offsetof(seccomp_data, arch)),
                                           step(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 0, 4),
                                           load(offsetof(seccomp_data, nr)),
                                           step(BPF_JMP | BPF_JGT | BPF_K, SYS_gettid, 2, 0),
                                           step(BPF_JMP | BPF_JGE | BPF_K, SYS_gettid, 1, 0),
                                           step(BPF_RET | BPF_K, allow),
                                           step(BPF_RET | BPF_K, kill)};
  EXPECT_EQ(action(filter, SYS_gettid - 1), allow);
  EXPECT_EQ(action(filter, SYS_gettid), kill);
  EXPECT_EQ(action(filter, SYS_gettid + 1), kill);
}

TEST(inject_call_filter, arguments_have_two_words) {
  const auto argument = offsetof(seccomp_data, args);
  const std::vector<sock_filter> filter = {load(argument),
                                           step(BPF_ALU | BPF_AND | BPF_K, 0xf0),
                                           step(BPF_ST, 3),
                                           load(argument + 4),
                                           step(BPF_MISC | BPF_TAX, 0),
                                           step(BPF_LD | BPF_MEM, 3),
                                           step(BPF_ALU | BPF_ADD | BPF_X, 0),
                                           step(BPF_JMP | BPF_JSET | BPF_K, 0x21, 0, 1),
                                           step(BPF_RET | BPF_K, kill),
                                           step(BPF_RET | BPF_K, allow)};
  EXPECT_EQ(action(filter, 0, 0x1'0000'0000), kill);
  EXPECT_EQ(action(filter, 0, 0x20), kill);
  EXPECT_EQ(action(filter, 0, 0x1), allow);
}

TEST(inject_call_filter, an_action_may_carry_data_and_may_be_computed) {
  EXPECT_EQ(action({step(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 13)}, 0), std::uint32_t{SECCOMP_RET_ERRNO});
  EXPECT_EQ(action({step(BPF_LD | BPF_IMM, SECCOMP_RET_TRAP), step(BPF_RET | BPF_A, 0)}, 0),
            std::uint32_t{SECCOMP_RET_TRAP});
}

TEST(inject_call_filter, what_the_kernel_would_not_take_allows) {
  EXPECT_EQ(action({}, 0), allow);
  EXPECT_EQ(action({load(1 << 20), step(BPF_ST, 1 << 20), step(BPF_JMP | BPF_JA, 1000)}, 0), allow);
  EXPECT_EQ(action({step(BPF_ALU | BPF_DIV | BPF_K, 0), step(BPF_ALU | BPF_LSH | BPF_K, 99)}, 0), allow);
}

}  // namespace
}  // namespace heapledger::inject

#include "tool/inject/interrupted_call.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "tool/inject/target.hpp"

namespace heapledger::inject {
namespace {

user_regs_struct of(long call, long result) {
  user_regs_struct registers{};
  registers.orig_rax = static_cast<std::uint64_t>(call);
  registers.rax = static_cast<std::uint64_t>(result);
  return registers;
}

TEST(inject_interrupted_call, begins_again_what_a_stop_ended) {
  for (const long call : {SYS_epoll_wait, SYS_semop, SYS_rt_sigtimedwait, SYS_accept4}) {
    auto registers = of(call, -EINTR);
    EXPECT_TRUE(begin_again(registers, true)) << call;
    EXPECT_EQ(static_cast<long>(registers.rax), -514);
    EXPECT_EQ(static_cast<long>(registers.orig_rax), call);
  }
}

TEST(inject_interrupted_call, leaves_all_else_alone) {
  for (auto registers : {of(SYS_epoll_wait, 1), of(SYS_epoll_wait, -514), of(SYS_close, -EINTR), of(-1, -EINTR),
                         of(SYS_nanosleep, -516)}) {
    const auto before = registers;
    EXPECT_FALSE(begin_again(registers, true));
    EXPECT_EQ(registers.rax, before.rax);
  }
  auto elsewhere = of(SYS_epoll_wait, -EINTR);
  EXPECT_FALSE(begin_again(elsewhere, false)) << "the program has set the register to that";
}

TEST(inject_interrupted_call, knows_waits_with_a_time) {
  EXPECT_TRUE(would_wait_longer("232 0x3 0x7ffe 0x10 0x1388 0x0 0x0 0x7ffe 0x7f00\n"));
  EXPECT_FALSE(would_wait_longer("232 0x3 0x7ffe 0x10 0xffffffff 0x0 0x0 0x7ffe 0x7f00\n"));
  EXPECT_FALSE(would_wait_longer("0 0x3 0x7ffe 0x10 0x1388 0x0 0x0 0x7ffe 0x7f00\n"));
  EXPECT_FALSE(would_wait_longer("running\n"));
  EXPECT_FALSE(would_wait_longer(""));
}

TEST(inject_interrupted_call, knows_what_would_be_cut_short) {
  EXPECT_TRUE(would_be_cut_short("1 0x1 0x7ffe 0x100000 0x0 0x0 0x0 0x7ffe 0x7f00\n"));
  EXPECT_FALSE(would_be_cut_short("0 0x1 0x7ffe 0x100000 0x0 0x0 0x0 0x7ffe 0x7f00\n"));
  EXPECT_TRUE(would_be_cut_short("45 0x3 0x7ffe 0x100 0x100 0x0 0x0 0x7ffe 0x7f00\n")) << "MSG_WAITALL";
  EXPECT_FALSE(would_be_cut_short("45 0x3 0x7ffe 0x100 0x0 0x0 0x0 0x7ffe 0x7f00\n"));
  EXPECT_FALSE(would_be_cut_short("running\n"));
}

TEST(inject_interrupted_call, knows_who_waits) {
  EXPECT_TRUE(is_waiting("0 0x0 0x0\n"));
  EXPECT_FALSE(is_waiting("running\n"));
  EXPECT_FALSE(is_waiting("-1 0x7ffe 0x7f00\n"));
  EXPECT_FALSE(is_waiting("0x\n"));
}

TEST(inject_interrupted_call, is_made_anew_without_the_kernel) {
  constexpr code_before unknown = {0x4d, 0x89, 0xc8, 0x90, 0x90, 0x0f, 0x05};
  constexpr code_before poll = {0xb8, 7, 0, 0, 0, 0x0f, 0x05};
  constexpr code_before write = {0xb8, 1, 0, 0, 0, 0x0f, 0x05};
  const auto made = [](long call, long result, const code_before& before) {
    auto registers = of(call, result);
    registers.rip = 0x1000;
    return made_anew(registers, before);
  };
  for (const long result : {-512, -513, -514, -516}) {
    EXPECT_EQ(made(SYS_select, result, unknown).rax, static_cast<std::uint64_t>(SYS_select));
    EXPECT_EQ(made(SYS_select, result, unknown).rip, 0xffeU);
    EXPECT_EQ(made(SYS_restart_syscall, result, poll).rax, 7U);
    EXPECT_EQ(made(SYS_restart_syscall, result, poll).rip, 0xffeU);
    for (const auto& code : {unknown, write}) {
      EXPECT_EQ(static_cast<long>(made(SYS_restart_syscall, result, code).rax), -EINTR);
      EXPECT_EQ(made(SYS_restart_syscall, result, code).rip, 0x1000U);
    }
  }
  for (const auto& [call, result] : {std::pair{-1L, -512L}, {SYS_read, 5L}, {SYS_read, -EINTR}}) {
    EXPECT_EQ(static_cast<long>(made(call, result, poll).rax), result);
    EXPECT_EQ(made(call, result, poll).rip, 0x1000U);
  }
}

TEST(inject_target, says_what_would_help) {
  const auto ours = "Uid:\t" + std::to_string(::getuid()) + "\t0\t0\t0\n";
  if (::geteuid() == 0) {
    EXPECT_NE(why_not_traced(ours, "1\n", "heapledger attach 1").find("--cap-add=SYS_PTRACE"), std::string::npos);
    return;
  }
  EXPECT_NE(why_not_traced(ours, "1\n", "heapledger attach 1").find("sudo sysctl kernel.yama.ptrace_scope=0"),
            std::string::npos);
  EXPECT_NE(why_not_traced(ours + "TracerPid:\t77\n", "", "heapledger attach 1").find("is being traced by process 77"),
            std::string::npos);
  EXPECT_NE(why_not_traced("Uid:\t4711\n", "", "heapledger attach 1").find("belongs to another user"),
            std::string::npos);
}

TEST(inject_modules, finds_the_one_at_an_address) {
  const std::vector<module> modules = {{0x1000, 0x3000, 0x2000, "/a", false}, {0x5000, 0x6000, 0x6000, "/b", false}};
  EXPECT_EQ(module_at(modules, 0xfff), nullptr);
  EXPECT_EQ(module_at(modules, 0x1000), &modules[0]);
  EXPECT_EQ(module_at(modules, 0x3000), nullptr);
  EXPECT_EQ(module_at(modules, 0x5fff), &modules[1]);
  EXPECT_EQ(module_at(modules, UINT64_MAX), nullptr);
  EXPECT_EQ(module_at({}, 0), nullptr);
}

TEST(inject_modules, knows_libc_and_the_loader) {
  EXPECT_EQ(kind_of("libc.so.6"), library_kind::libc);
  EXPECT_EQ(kind_of("ld-linux-x86-64.so.2"), library_kind::loader);
  EXPECT_EQ(kind_of("libcurl.so.4"), library_kind::other);
  EXPECT_EQ(kind_of(""), library_kind::other);
}

}  // namespace
}  // namespace heapledger::inject

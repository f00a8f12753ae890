#include "tool/inject/interrupted_call.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

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

// A piece of memory of another process.
struct piece {
  std::uint64_t address;
  std::vector<unsigned char> bytes;
};
memory_reader reader_of(const std::vector<piece>& pieces) {
  return [pieces](std::uint64_t address, void* to, std::size_t bytes) {
    for (const auto& one : pieces) {
      if (address < one.address || address + bytes > one.address + one.bytes.size()) continue;
      std::memcpy(to, one.bytes.data() + (address - one.address), bytes);
      return true;
    }
    return false;
  };
}

TEST(inject_interrupted_call, is_made_anew_without_the_kernel) {
  const auto before = [](std::vector<unsigned char> code) { return reader_of({{0x1000 - code.size(), code}}); };
  const auto unknown = before({0x4d, 0x89, 0xc8, 0x90, 0x90, 0x0f, 0x05});
  const auto poll = before({0xb8, 7, 0, 0, 0, 0x0f, 0x05});
  const auto write = before({0xb8, 1, 0, 0, 0, 0x0f, 0x05});
  const auto made = [](long call, long result, const memory_reader& read) {
    auto registers = of(call, result);
    registers.rip = 0x1000;
    return made_anew(registers, read);
  };
  for (const long result : {-512, -513, -514, -516}) {
    EXPECT_EQ(made(SYS_select, result, unknown).rax, static_cast<std::uint64_t>(SYS_select));
    EXPECT_EQ(made(SYS_select, result, unknown).rip, 0xffeU);
    EXPECT_EQ(made(SYS_restart_syscall, result, poll).rax, 7U);
    EXPECT_EQ(made(SYS_restart_syscall, result, poll).rip, 0xffeU);
    for (const auto& code : {unknown, write, reader_of({})}) {
      EXPECT_EQ(static_cast<long>(made(SYS_restart_syscall, result, code).rax), -EINTR);
      EXPECT_EQ(made(SYS_restart_syscall, result, code).rip, 0x1000U);
    }
  }
  for (const auto& [call, result] : {std::pair{-1L, -512L}, {SYS_read, 5L}, {SYS_read, -EINTR}}) {
    EXPECT_EQ(static_cast<long>(made(call, result, poll).rax), result);
    EXPECT_EQ(made(call, result, poll).rip, 0x1000U);
  }
}

// As the functions of glibc 2.41 through which every call goes that is a cancellation point.
TEST(inject_interrupted_call, has_its_number_on_the_stack) {
  user_regs_struct registers{};
  registers.rip = 0x1000;
  registers.rsp = 0x7000;
  const piece load{0xff9, {0x48, 0x8b, 0x44, 0x24, 0x10, 0x0f, 0x05}};  // mov 0x10(%rsp), %rax
  piece stack{0x7000, std::vector<unsigned char>(0x40)};
  EXPECT_FALSE(call_number(registers, reader_of({load})));
  stack.bytes[0x10] = 230;
  EXPECT_EQ(call_number(registers, reader_of({load, stack})), 230);

  const piece wrapper{0xff9, {0x4c, 0x89, 0x5c, 0x24, 0x08, 0x0f, 0x05, 0xc3}};
  // push %r8; mov 0x20(%rsp), %rsi; mov %rdx, %r8; mov %rdi, %rdx; mov %r11, %rdi; call 0xfd0
  piece caller{0x9000,
               {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0x50, 0x48, 0x8b, 0x74,
                0x24, 0x20, 0x49, 0x89, 0xd0, 0x48, 0x89, 0xfa, 0x4c, 0x89, 0xdf, 0xe8, 0xb0, 0x7f, 0xff, 0xff}};
  stack.bytes.assign(0x40, 0);
  stack.bytes[0] = 0x20;
  stack.bytes[1] = 0x90;
  stack.bytes[0x28] = 35;
  EXPECT_EQ(call_number(registers, reader_of({wrapper, stack, caller})), 35);
  EXPECT_FALSE(call_number(registers, reader_of({wrapper, stack})));
  auto other = caller;
  other.bytes[28] = 0xb1;  // a call of what is behind
  other.bytes[29] = 0x80;
  EXPECT_FALSE(call_number(registers, reader_of({wrapper, stack, other})));
  other = caller;
  other.bytes[15] = 0x7c;  // into %rdi
  EXPECT_FALSE(call_number(registers, reader_of({wrapper, stack, other})));
  auto goes_on = wrapper;
  goes_on.bytes.back() = 0x90;
  EXPECT_FALSE(call_number(registers, reader_of({goes_on, stack, caller})));
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

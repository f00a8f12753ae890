#include <gtest/gtest.h>
#include <heapledger/detail/runtime_call.hpp>

using heapledger::detail::callee_of;
using heapledger::detail::instruction_reader;
using heapledger::detail::runtime_call;

// What noexcept is in clang's code: a handler calls a function that catches and terminates. It does so by stubs, or
// with -fno-plt from clang 20 on through the linker's table.
__asm__(
    ".pushsection .text\n"
    "ends_by_stubs:\n"
    "  push %rax\n"
    "  call __cxa_begin_catch@PLT\n"
    "  call _ZSt9terminatev@PLT\n"
    "ends_through_table:\n"
    "  push %rax\n"
    "  call *__cxa_begin_catch@GOTPCREL(%rip)\n"
    "  call *_ZSt9terminatev@GOTPCREL(%rip)\n"
    "goes_on:\n"
    "  push %rax\n"
    "  call *__cxa_begin_catch@GOTPCREL(%rip)\n"
    "  call *__cxa_end_catch@GOTPCREL(%rip)\n"
    ".globl calls_by_stubs, calls_through_table, calls_what_goes_on\n"
    "calls_by_stubs: call ends_by_stubs\n"
    "calls_through_table: call ends_through_table\n"
    "calls_what_goes_on: call goes_on\n"
    ".popsection\n");
extern "C" const unsigned char calls_by_stubs[], calls_through_table[], calls_what_goes_on[];

TEST(runtime_call, a_function_that_catches_and_terminates) {
  EXPECT_EQ(callee_of(instruction_reader::at(calls_by_stubs)), runtime_call::catch_to_terminate);
  EXPECT_EQ(callee_of(instruction_reader::at(calls_through_table)), runtime_call::catch_to_terminate);
  EXPECT_EQ(callee_of(instruction_reader::at(calls_what_goes_on)), runtime_call::other);
}

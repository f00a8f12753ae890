#include <gtest/gtest.h>
#include <heapledger/detail/instruction.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

using heapledger::detail::instruction;
using heapledger::detail::instruction_reader;
using namespace std::string_view_literals;
using flow = instruction::flow;

namespace {

instruction read(std::string_view bytes) {
  static unsigned char code[32];
  std::memset(code, 0xcc, sizeof code);
  std::memcpy(code, bytes.data(), bytes.size());
  instruction is = instruction_reader::at(code);
  is.next -= reinterpret_cast<std::uintptr_t>(code);
  if (is.target != 0) is.target -= reinterpret_cast<std::uintptr_t>(code);
  return is;
}
std::size_t bytes_of(const instruction& is) {
  return reinterpret_cast<std::size_t>(is.next);
}

// As GNU as makes them.
struct {
  std::string_view text, code;
  flow goes;
} const instructions[] = {
    {"nop", "\x90"sv, flow::on},
    {"nopw 0x0(%rax,%rax,1)", "\x66\x0f\x1f\x04\x00"sv, flow::on},
    {"endbr64", "\xf3\x0f\x1e\xfa"sv, flow::on},
    {"push %r12", "\x41\x54"sv, flow::on},
    {"pop %rbp", "\x5d"sv, flow::on},
    {"mov %rdx,%r12", "\x49\x89\xd4"sv, flow::on},
    {"mov %edx,-0x24(%rbp)", "\x89\x55\xdc"sv, flow::on},
    {"mov -0x24(%rbp),%eax", "\x8b\x45\xdc"sv, flow::on},
    {"mov 0x18(%rsp),%rax", "\x48\x8b\x44\x24\x18"sv, flow::on},
    {"mov 0x12345678(%rip),%rax", "\x48\x8b\x05\x78\x56\x34\x12"sv, flow::on},
    {"movabs $0x1122334455667788,%r9", "\x49\xb9\x88\x77\x66\x55\x44\x33\x22\x11"sv, flow::on},
    {"mov $0x48,%esi", "\xbe\x48\x00\x00\x00"sv, flow::on},
    {"movq $0x5,0x8(%rsp)", "\x48\xc7\x44\x24\x08\x05\x00\x00\x00"sv, flow::on},
    {"movw $0x5,(%rax)", "\x66\xc7\x00\x05\x00"sv, flow::on},
    {"cmp $0x1,%rdx", "\x48\x83\xfa\x01"sv, flow::on},
    {"cmp $0x12345,%eax", "\x3d\x45\x23\x01\x00"sv, flow::on},
    {"cmpl $0x2,0x48(%rsp)", "\x83\x7c\x24\x48\x02"sv, flow::on},
    {"dec %r15", "\x49\xff\xcf"sv, flow::on},
    {"lea 0x0(,%rax,8),%rsi", "\x48\x8d\x34\xc5\x00\x00\x00\x00"sv, flow::on},
    {"test %al,%al", "\x84\xc0"sv, flow::on},
    {"testb $0x1,-0x9(%rbp)", "\xf6\x45\xf7\x01"sv, flow::on},
    {"testl $0x12345678,(%rdi)", "\xf7\x07\x78\x56\x34\x12"sv, flow::on},
    {"neg %eax", "\xf7\xd8"sv, flow::on},
    {"imul $0x18,%rsi,%rsi", "\x48\x6b\xf6\x18"sv, flow::on},
    {"imul $0x1234,%rsi,%rsi", "\x48\x69\xf6\x34\x12\x00\x00"sv, flow::on},
    {"shl $0x3,%rax", "\x48\xc1\xe0\x03"sv, flow::on},
    {"lock cmpxchg %ecx,(%rdx)", "\xf0\x0f\xb1\x0a"sv, flow::on},
    {"rep stosq", "\xf3\x48\xab"sv, flow::on},
    {"movzbl %bl,%edi", "\x0f\xb6\xfb"sv, flow::on},
    {"setne %al", "\x0f\x95\xc0"sv, flow::on},
    {"cmovne %rax,%rbx", "\x48\x0f\x45\xd8"sv, flow::on},
    {"bswap %rax", "\x48\x0f\xc8"sv, flow::on},
    {"pshufd $0x4e,%xmm0,%xmm1", "\x66\x0f\x70\xc8\x4e"sv, flow::on},
    {"movups %xmm0,-0x58(%rbp)", "\x0f\x11\x45\xa8"sv, flow::on},
    {"pshufb %xmm1,%xmm0", "\x66\x0f\x38\x00\xc1"sv, flow::on},
    {"palignr $0x8,%xmm1,%xmm0", "\x66\x0f\x3a\x0f\xc1\x08"sv, flow::on},
    {"vmovdqu %ymm0,0x20(%rdi)", "\xc5\xfe\x7f\x47\x20"sv, flow::on},
    {"vpermq $0x4e,%ymm0,%ymm1", "\xc4\xe3\xfd\x00\xc8\x4e"sv, flow::on},
    {"vzeroupper", "\xc5\xf8\x77"sv, flow::on},
    {"vpxord %zmm16,%zmm16,%zmm16", "\x62\xa1\x7d\x40\xef\xc0"sv, flow::on},
    {"vmovdqu64 %zmm16,0x1000(%rdi)", "\x62\xe1\xfe\x48\x7f\x47\x40"sv, flow::on},
    {"fldt 0x10(%rsp)", "\xdb\x6c\x24\x10"sv, flow::on},
    {"leave", "\xc9"sv, flow::on},
    {"ret", "\xc3"sv, flow::ends},
    {"ud2", "\x0f\x0b"sv, flow::ends},
    {"hlt", "\xf4"sv, flow::ends},
    {"int3", "\xcc"sv, flow::ends},
    {"jmp *%rax", "\xff\xe0"sv, flow::ends},
    {"jmp *0x12345(%rip)", "\xff\x25\x45\x23\x01\x00"sv, flow::jump},
    {"jmp *(%rax,%rbx,8)", "\xff\x24\xd8"sv, flow::ends},
    {"call *%rax", "\xff\xd0"sv, flow::call},
    {"call *0x12345(%rip)", "\xff\x15\x45\x23\x01\x00"sv, flow::call},
    {"call *0x30(%rax)", "\xff\x50\x30"sv, flow::call},
};

TEST(instruction, lengths_and_where_control_goes) {
  for (const auto& each : instructions) {
    const instruction is = read(each.code);
    EXPECT_EQ(bytes_of(is), each.code.size()) << each.text;
    EXPECT_EQ(is.goes, each.goes) << each.text;
  }
}

TEST(instruction, targets) {
  EXPECT_EQ(read("\xe8\x10\x00\x00\x00"sv).target, 0x15u);
  EXPECT_EQ(read("\xeb\x10"sv).target, 0x12u);
  EXPECT_EQ(read("\xeb\xfe"sv).target, 0u);
  EXPECT_EQ(read("\x75\x10"sv).goes, flow::branch);
  EXPECT_EQ(read("\x0f\x84\x10\x00\x00\x00"sv).target, 0x16u);
  EXPECT_EQ(read("\xf2\xe9\x10\x00\x00\x00"sv).target, 0x16u);  // bnd jmp
  const instruction through_table = read("\xff\x15\x10\x00\x00\x00"sv);
  EXPECT_TRUE(through_table.through_pointer);
  EXPECT_EQ(through_table.target, 0x16u);
  const instruction through_register = read("\xff\xd0"sv);
  EXPECT_EQ(through_register.goes, flow::call);
  EXPECT_EQ(through_register.target, 0u);
}

TEST(instruction, operands) {
  const instruction moves = read("\x49\x89\xd4"sv);  // mov %rdx,%r12
  EXPECT_TRUE(moves.of_registers);
  EXPECT_EQ(moves.first, 12u);
  EXPECT_EQ(moves.second, 2u);
  const instruction spills = read("\x89\x55\xdc"sv);  // mov %edx,-0x24(%rbp)
  EXPECT_TRUE(spills.on_stack);
  EXPECT_EQ(spills.first, 5u);
  EXPECT_EQ(spills.displacement, -0x24);
  EXPECT_FALSE(read("\x89\x14\x84"sv).on_stack);        // mov %edx,(%rsp,%rax,4)
  EXPECT_FALSE(read("\x41\x89\x55\xdc"sv).on_stack);    // mov %edx,-0x24(%r13)
  const instruction compares = read("\x83\xfa\xff"sv);  // cmp $-1,%edx
  EXPECT_EQ(compares.immediate, -1);
  EXPECT_EQ(compares.first, 2u);
}

}  // namespace

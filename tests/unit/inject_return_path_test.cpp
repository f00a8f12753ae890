// The way back that a thread takes alone, as bytes: inject_alone_test.py has threads take it.
#include "tool/inject/return_path.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tool/inject/memory.hpp"
#include "tool/inject/spare_place.hpp"

namespace heapledger::inject {
namespace {

constexpr std::uint64_t at = 0x7f0000001000;
constexpr std::size_t rdi = 104, rsi = 112, rsp = 160, rip = 168, vectors = 224, mask = 296;  // in the kernel's frame

thread_state some_state() {
  thread_state state;
  state.vectors.resize(2696);
  state.registers.rip = 0x401000;
  state.registers.rsp = 0x7ffc0010;
  state.mask = 0x5;
  return state;
}

libc_code some_code() {
  return {.gate = 0x100,
          .plain_return = 0x10a,
          .keep_result = 0x200,
          .end_of_handler = 0x300,
          .change_stack = 0x400,
          .copy_swapped = 0x500};
}

class bytes_at {
 public:
  bytes_at(std::vector<char> content, std::uint64_t address) : content_(std::move(content)), address_(address) {}
  std::uint64_t word(std::uint64_t address) const {
    std::uint64_t value = 0;
    EXPECT_LE(address + sizeof value, address_ + content_.size());
    std::memcpy(&value, content_.data() + (address - address_), sizeof value);
    return value;
  }

 private:
  std::vector<char> content_;
  std::uint64_t address_;
};

TEST(inject_return_path, leads_to_where_the_thread_was) {
  const auto state = some_state();
  const auto code = some_code();
  return_path path(code, state, 0xff, at);
  EXPECT_EQ(path.stack() % 16, 8U) << "as after a call";
  path.put_back(0x1234, 0x00c0ffee);
  const bytes_at memory(path.content(), at);
  EXPECT_EQ(memory.word(path.stack()), code.plain_return);
  EXPECT_EQ(memory.word(path.stack() + 8), code.keep_result);
  EXPECT_EQ(memory.word(path.stack() + 16), code.end_of_handler);

  const auto last = path.end();
  EXPECT_EQ(last, path.stack() + 24);
  EXPECT_EQ(memory.word(last + rip), code.copy_swapped);
  EXPECT_EQ(memory.word(last + rsi), 0x1234U);
  EXPECT_EQ(memory.word(memory.word(last + rdi)) & 0xffffffff, 0xc000eeffU);
  EXPECT_EQ(memory.word(last + mask), 0xffU);
  EXPECT_EQ(memory.word(last + vectors) % 64, 0U);

  const auto stack = memory.word(last + rsp);
  EXPECT_EQ(stack % 16, 8U);
  EXPECT_EQ(memory.word(stack), code.end_of_handler);
  EXPECT_EQ(memory.word(stack + 8 + rip), state.registers.rip);
  EXPECT_EQ(memory.word(stack + 8 + rsp), state.registers.rsp);
  EXPECT_EQ(memory.word(stack + 8 + mask), state.mask);
  EXPECT_EQ(memory.word(stack + 8 + vectors) % 64, 0U);
}

TEST(inject_return_path, is_short_before_there_is_memory) {
  const auto state = some_state();
  const bytes_at memory(short_return_path::content(some_code(), state, at), at);
  const auto stack = short_return_path::stack(at);
  EXPECT_EQ(short_return_path::frame_pointer(at), stack - 8);
  EXPECT_EQ(memory.word(stack), some_code().end_of_handler);
  EXPECT_EQ(memory.word(stack + 8 + rip), state.registers.rip);
  EXPECT_EQ(memory.word(stack + 8 + vectors) % 64, 0U);
}

TEST(inject_return_path, is_found_in_a_libc_and_beside_it) {
  target in{.pid = ::getpid(),
            .identity = {},
            .program = {},
            .modules = read_modules(::getpid()),
            .libc = 0,
            .libc_exports = exports(-1),
            .code = {}};
  const auto libc = std::find_if(in.modules.begin(), in.modules.end(),
                                 [](const auto& each) { return kind_of(each.name()) == library_kind::libc; });
  ASSERT_NE(libc, in.modules.end());
  const auto file = open_module(in.pid, *libc);
  const exports of_libc(file.get());
  const auto code = find_libc_code(in.pid, of_libc, libc->start, file.get());
  ASSERT_TRUE(code);
  for (const auto address : {code->gate, code->plain_return, code->keep_result, code->end_of_handler,
                             code->change_stack, code->copy_swapped})
    EXPECT_EQ(module_at(in.modules, address), &*libc);
  EXPECT_FALSE(find_libc_code(in.pid, of_libc, libc->start + 16, file.get())) << "what is there is something else";

  const auto places = find_spare_places(in);
  EXPECT_FALSE(places.empty());
  for (const auto& place : places) {
    EXPECT_EQ(place.address % return_frame_alignment, 0U);
    EXPECT_EQ((place.address + place.bytes) % 4096, 0U);
    EXPECT_LT(place.bytes, 4096U);
    std::vector<char> content(place.bytes);
    EXPECT_TRUE(read_memory(in.pid, place.address, content.data(), content.size()));
  }
}

TEST(inject_spare_place, is_claimed_while_it_is_borrowed) {
  std::array<char, 256> memory;
  memory.fill('x');
  const auto before = memory;
  const std::vector<spare_place> places = {{reinterpret_cast<std::uint64_t>(memory.data()), memory.size()}};
  EXPECT_TRUE(borrowers_of(::getpid(), places).empty());
  {
    borrowed_place ours(::getpid(), 4711, places, 200);
    ASSERT_EQ(ours.address(), places[0].address);
    EXPECT_TRUE(borrowers_of(::getpid(), places).empty());
    ours.write(std::vector<char>(200, 'y'));
    EXPECT_EQ(borrowers_of(::getpid(), places), std::vector<pid_t>{4711});
    borrowed_place after_one_who_was_killed(::getpid(), 4712, places, 200);
    after_one_who_was_killed.write(std::vector<char>(200, 'z'));
    EXPECT_EQ(borrowers_of(::getpid(), places), std::vector<pid_t>{4712});
  }
  EXPECT_EQ(memory, before);
  EXPECT_EQ(borrowed_place(::getpid(), 4711, places, 257).address(), 0U);
}

}  // namespace
}  // namespace heapledger::inject

#include "tool/inject/safe_point.hpp"

#include <gtest/gtest.h>

namespace heapledger::inject {
namespace {

using frames = std::vector<placed_frame>;

placed_frame in(code_kind where, std::string_view name = {}) {
  placed_frame frame{.where = where, .names = {}, .was_interrupted = false};
  if (!name.empty()) frame.names.push_back(name);
  return frame;
}
placed_frame libc(std::string_view name = {}) {
  return in(code_kind::libc, name);
}
placed_frame program(std::string_view name = {}) {
  return in(code_kind::program, name);
}
placed_frame interrupted(placed_frame frame) {
  frame.was_interrupted = true;
  return frame;
}

std::string judge(const frames& stack, bool in_system_call = true, bool has_malloc = false) {
  return why_unsafe({.frames = stack, .in_system_call = in_system_call, .program_has_malloc = has_malloc});
}

TEST(inject_safe_point, a_wait_of_the_program) {
  EXPECT_EQ(judge({libc("poll"), program(), libc(), libc("__libc_start_main"), program()}), "");
  EXPECT_EQ(judge({libc(), libc(), libc("pthread_cond_wait"), program(), libc(), libc()}), "");
  EXPECT_EQ(judge({libc("clock_nanosleep"), libc("nanosleep"), libc("sleep"), program()}), "");
  EXPECT_EQ(judge({libc("epoll_wait"), in(code_kind::generated), program()}), "");
  EXPECT_EQ(judge({libc("read"), libc("_IO_file_underflow"), libc(), libc("fgets"), program()}), "");
  EXPECT_EQ(
      judge({libc("read"), libc("_IO_file_underflow"), libc("__uflow"), libc(), libc("__isoc99_scanf"), program()}),
      "");
}

TEST(inject_safe_point, code_of_the_program) {
  EXPECT_EQ(judge({program(), program(), libc(), libc("__libc_start_main")}, false), "");
  EXPECT_EQ(judge({in(code_kind::generated)}, false), "");
  EXPECT_EQ(judge({program(), libc(), libc("qsort_r"), program()}, false), "");
}

TEST(inject_safe_point, the_allocator) {
  EXPECT_NE(judge({libc(), libc("malloc"), program()}), "");
  EXPECT_NE(judge({libc(), libc("free"), program()}, false), "");
  EXPECT_NE(judge({program(), program("_Znwm"), program()}, false), "");
  EXPECT_NE(judge({libc("nanosleep"), in(code_kind::allocator), program()}), "");
  EXPECT_NE(judge({program(), libc("malloc"), program()}), "");
}

TEST(inject_safe_point, an_allocator_in_the_program) {
  EXPECT_NE(judge({program(), program()}, false, true), "");
  EXPECT_NE(judge({libc("nanosleep"), program()}, true, true), "");
  EXPECT_NE(judge({libc(), libc("pthread_mutex_lock"), program()}, true, true), "");
  EXPECT_EQ(judge({libc("epoll_wait"), program()}, true, true), "");
}

TEST(inject_safe_point, the_loader) {
  EXPECT_NE(judge({in(code_kind::loader), program()}, false), "");
  EXPECT_NE(judge({libc("read"), program(), in(code_kind::loader), libc("dlopen"), program()}), "");
  EXPECT_NE(judge({program(), libc("dl_iterate_phdr"), program()}, false), "");
}

TEST(inject_safe_point, the_midst_of_libc) {
  EXPECT_NE(judge({libc()}, false), "") << "a thread begins or ends";
  EXPECT_NE(judge({libc(), program()}, false), "") << "memcpy";
  EXPECT_NE(judge({libc("poll"), libc("getaddrinfo"), program()}), "");
  EXPECT_NE(judge({libc("write"), libc(), libc("fflush"), program()}), "");
  EXPECT_NE(judge({libc("read"), program()}, false), "") << "before or after the system call: cancellation";
  EXPECT_NE(judge({program(), libc(), libc("exit"), program()}, false), "");
  EXPECT_NE(judge({libc("pause"), program(), libc("fork"), program()}), "");
  EXPECT_NE(judge({}), "");
}

TEST(inject_safe_point, handlers) {
  EXPECT_NE(judge({program(), libc(), interrupted(program()), program()}, false), "");
  EXPECT_NE(judge({libc("read"), program(), libc(), interrupted(libc("malloc")), program()}), "");
  EXPECT_EQ(judge({interrupted(program()), program()}, false), "") << "the innermost one is where we stopped it";
}

}  // namespace
}  // namespace heapledger::inject

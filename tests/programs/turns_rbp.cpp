// Stacks that come in turn, so that they are known by their ends, and that differ in nothing but where a frame found by
// rbp lies, or in what is outside that frame. The size of each allocation tells its stack.
// usage: turns_rbp [scopes | threads]    outside and inside of two scopes, each turn five times, in the next; all five
// times in two threads
#include <alloca.h>

#include <iterator>
#include <string_view>
#include <thread>

#include "heapledger/scope.hpp"
#include "shapes.hpp"

namespace {

constexpr std::size_t area_bytes = 8192;    // that dynamic_frame lays between its frame and its callee's
constexpr std::size_t beside_bytes = 4096;  // that outer_frame does
constexpr std::size_t padded_bytes = 2048;  // more in the frame of padded_caller
constexpr std::size_t plain = 16, padded = 48;

enum sites : unsigned { first = 1, second = 2, both = first | second };

struct call {
  void (*caller)(std::size_t);
  std::size_t beside, area;
  sites from;
  unsigned times;
  bool again;  // once more, from another place in dynamic_frame
};

// Not in registers: no function on the way may save one, since rbp would be among them.
thread_local volatile sites from;
thread_local volatile unsigned left;
thread_local volatile bool again;
thread_local volatile bool in_register;  // rbp is a register like others between the site and the frame found by it
thread_local volatile std::size_t bytes;
thread_local void* resized = nullptr;

}  // namespace

SHAPE void site_first() {
  test::escape(std::malloc(bytes));
  asm volatile("" : : : "memory");
}
SHAPE void site_second() {
  resized = std::realloc(resized, bytes);
  CHECK(resized);
  asm volatile("" : : : "memory");
}

SHAPE void in_turn() {
  while (left != 0) {
    if ((from & first) != 0) site_first();
    if ((from & second) != 0) site_second();
    left = left - 1;
  }
}
#ifndef FRAME_POINTERS
SHAPE void rbp_as_register() {
  asm volatile("xorl %%ebp, %%ebp" : : : "rbp");
  in_turn();
  asm volatile("xorl %%ebp, %%ebp" : : : "rbp");
}
constexpr bool has_register[] = {false, true};
#else
void rbp_as_register() {}
constexpr bool has_register[] = {false};
#endif

// What the areas hold is never written, so the words of an earlier stack stay there.
SHAPE void dynamic_frame(std::size_t area) {
  test::escape(alloca(area));
  if (in_register)
    rbp_as_register();
  else
    in_turn();
  if (again) {
    left = 1;
    bytes = bytes + 1;
    in_turn();
  }
  asm volatile("" : : : "memory");
}
SHAPE void plain_caller(std::size_t area) {
  bytes = plain;
  dynamic_frame(area);
  asm volatile("" : : : "memory");
}
SHAPE void padded_caller(std::size_t area) {
  char padding[padded_bytes];
  test::escape(padding);
  bytes = padded;
  dynamic_frame(area);
  test::escape(padding);
}
SHAPE void outer_frame(const call& one) {
  test::escape(alloca(one.beside));
  one.caller(one.area);
  asm volatile("" : : : "memory");
}
// One place in code for all calls.
SHAPE void make(const call* calls, const call* end) {
  for (; calls != end; ++calls) {
    from = calls->from;
    left = calls->times;
    again = calls->again;
    outer_frame(*calls);
  }
}

// Somewhere among the areas the frames come to lie as they must: dynamic_frame of the fourth call where that of the
// second was, with another caller; or the callee of the last one where that of the one before was, with the frame
// elsewhere. The stacks of each turn lie at places of their own, so that their ends are learned anew, up to the frame
// that the first call leaves known.
SHAPE void take_turns(bool in_scopes) {
  const heapledger::scope outside = heapledger::scope::process();
  const heapledger::scope scopes[] = {outside, heapledger::scope("one"), heapledger::scope("two")};
  for (unsigned round = 0; round < 4; ++round)
    for (const bool here : has_register)
      for (std::size_t less = 0; less < padded_bytes + 512; less += 16) {
        in_register = here;
        const std::size_t beside = beside_bytes + less;
        const call calls[] = {
            {plain_caller, beside, area_bytes, second, 1, false},
            {plain_caller, beside, area_bytes, both, 8, false},
            {plain_caller, beside + 512, area_bytes - 512, second, 1, false},
            {padded_caller, beside - less, area_bytes, first, 1, false},
            {plain_caller, beside, area_bytes, both, 8, true},
            {padded_caller, beside, area_bytes - less, both, 1, false},
        };
        // An end that was met in one scope is met in the next ones.
        for (unsigned turn = 0; turn < (in_scopes ? 5 : 1); ++turn) {
          const heapledger::enter inside(in_scopes ? scopes[(less / 16 + round + turn) % 3] : outside);
          make(calls, std::end(calls));
        }
      }
}

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  if (how == "threads") {
    const auto take_all = [] {
      for (unsigned i = 0; i < 5; ++i) take_turns(false);
    };
    std::thread one(take_all), two(take_all);
    one.join();
    two.join();
  } else {
    take_turns(how == "scopes");
  }
}

// The arrays behind a remembered stack.
#include "probe/base/lock.hpp"
#include "probe/base/own_memory.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {
namespace {

constexpr std::uint32_t initial_frames = 64;
constexpr std::uint32_t most_frames = 1u << 20;

std::size_t bytes_for(std::uint32_t frames) {
  return frames * (sizeof(known_frame) + sizeof(walked_frame) + 3 * sizeof(stack_read));
}

}  // namespace

std::size_t stack_walk::initial_bytes() {
  return bytes_for(initial_frames);
}

void stack_walk::place(void* memory, std::uint32_t capacity) {
  frames_ = static_cast<known_frame*>(memory);
  walked_ = reinterpret_cast<walked_frame*>(frames_ + capacity);
  words_ = reinterpret_cast<stack_read*>(walked_ + capacity);
  new_reads_ = words_ + 2 * capacity;
  capacity_ = capacity;
  words_[0] = {reinterpret_cast<const std::uint64_t*>(words_), 0};  // what never is what it was
}

void stack_walk::init(void* memory, std::uint32_t depth_limit, wire::stacks_mode mode) {
  place(memory, initial_frames);
  *root() = {.pc = 0,
             .rsp = ~std::uint64_t{0},
             .rbp = 0,
             .path = root_path,
             .node = 0,
             .words_end = 1,
             .made = {0, last_frame, 0}};
  depth_limit_ = depth_limit;
  frame_pointers_ = mode == wire::stacks_mode::frame_pointer;
  guesses_ = mode == wire::stacks_mode::jit;
  forget();
}

// The first arrays are part of the thread's first piece of memory and stay; later ones are given back.
bool stack_walk::grow(progress& walk) {
  const stack_walk old = *this;
  if (old.capacity_ == most_frames) return false;
  const signals_blocked quiet;  // a handler that never returns would leave it half done
  void* memory = own_map(bytes_for(old.capacity_ * 2));
  if (memory == nullptr) return false;
  place(memory, old.capacity_ * 2);
  __builtin_memcpy(frames_, old.frames_, old.capacity_ * sizeof(known_frame));
  __builtin_memcpy(walked_, old.walked_, old.capacity_ * sizeof(walked_frame));
  __builtin_memcpy(words_ + 1, old.words_ + 1, (2 * old.capacity_ - 1) * sizeof(stack_read));
  __builtin_memcpy(new_reads_, old.new_reads_, old.capacity_ * sizeof(stack_read));
  top_ = frames_ + (old.top_ - old.frames_);
  before_ = frames_ + (old.before_ - old.frames_);
  innermost_word_ = words_ + (old.innermost_word_ - old.words_);
  walk.kept = frames_ + (walk.kept - old.frames_);
  walk.next = walked_ + (walk.next - old.walked_);
  if (old.capacity_ != initial_frames) own_unmap(old.frames_, bytes_for(old.capacity_));
  return true;
}

}  // namespace heapledger::probe

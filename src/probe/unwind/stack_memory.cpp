// The arrays behind a remembered stack.
#include "probe/base/own_memory.hpp"
#include "probe/unwind/stack_walk.hpp"

namespace heapledger::probe {
namespace {

constexpr std::uint32_t initial_frames = 64;
constexpr std::uint32_t most_frames = 1u << 20;

std::size_t bytes_for(std::uint32_t frames) {
  return frames * (sizeof(known_frame) + sizeof(walked_frame) + 2 * sizeof(stack_read));
}

}  // namespace

std::size_t stack_walk::initial_bytes() {
  return bytes_for(initial_frames);
}

void stack_walk::place(void* memory, std::uint32_t capacity) {
  frames_ = static_cast<known_frame*>(memory);
  walked_ = reinterpret_cast<walked_frame*>(frames_ + capacity);
  reads_ = reinterpret_cast<stack_read*>(walked_ + capacity);
  new_reads_ = reads_ + capacity;
  capacity_ = capacity;
}

void stack_walk::init(void* memory, std::uint32_t depth_limit, bool frame_pointers) {
  place(memory, initial_frames);
  *root() = {.pc = 0,
             .rsp = ~std::uint64_t{0},
             .rbp = 0,
             .path = root_path,
             .node = 0,
             .reads_end = 0,
             .more = 0,
             .rbp_offset = 0,
             .flags = last_frame};
  depth_limit_ = depth_limit;
  frame_pointers_ = frame_pointers;
  forget();
}

// The first arrays are part of the thread's first piece of memory and stay; later ones are given back.
bool stack_walk::grow(known_frame*& kept) {
  const stack_walk old = *this;
  if (old.capacity_ == most_frames) return false;
  void* memory = own_map(bytes_for(old.capacity_ * 2));
  if (memory == nullptr) return false;
  place(memory, old.capacity_ * 2);
  __builtin_memcpy(frames_, old.frames_, old.capacity_ * sizeof(known_frame));
  __builtin_memcpy(walked_, old.walked_, old.capacity_ * sizeof(walked_frame));
  __builtin_memcpy(reads_, old.reads_, old.capacity_ * sizeof(stack_read));
  __builtin_memcpy(new_reads_, old.new_reads_, old.capacity_ * sizeof(stack_read));
  top_ = frames_ + (old.top_ - old.frames_);
  kept = frames_ + (kept - old.frames_);
  if (old.capacity_ != initial_frames) own_unmap(old.frames_, bytes_for(old.capacity_));
  return true;
}

}  // namespace heapledger::probe

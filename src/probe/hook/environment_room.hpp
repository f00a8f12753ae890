// Room for a child's environment where it is large: stacks may be small, and exec's own needs none of them for it.
//
// A thread has one room, which a child of vfork that runs on its stack uses as well: what such a child leaves behind
// when it executes is used again by the next, and given back when the thread ends. No malloc, no errno.
#pragma once

#include <cstddef>

namespace heapledger::probe {

class environment_room {
 public:
  environment_room() = default;
  ~environment_room();
  environment_room(const environment_room&) = delete;
  environment_room& operator=(const environment_room&) = delete;

  // nullptr: it is little, or there is none, and the stack has to do.
  void* take(std::size_t bytes);

 private:
  bool taken_ = false;
};

// By a thread that ends.
void give_back_environment_room();

}  // namespace heapledger::probe

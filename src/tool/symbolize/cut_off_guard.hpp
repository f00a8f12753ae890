// Files are mapped, and somebody may cut one off meanwhile, as when a program is linked anew in the same place. To read
// a page behind the new end is SIGBUS, and the end of the tool. While a guard lives, such pages read as zeros in its
// thread: libdw and libelf find nothing there, as in any damaged file, and what was found must not be believed.
#pragma once

namespace heapledger::symbols {

class cut_off_guard {
 public:
  cut_off_guard();
  ~cut_off_guard();
  cut_off_guard(const cut_off_guard&) = delete;
  cut_off_guard& operator=(const cut_off_guard&) = delete;
};

// Since the first guard of this thread that still lives.
bool file_was_cut_off();

}  // namespace heapledger::symbols

// Memory of a process that nobody uses, before it has any of ours: what is left of a page behind the end of a segment
// of the program, of libc or of the loader, which stay where they are. What stands there is put back afterwards.
#pragma once

#include <cstdint>
#include <vector>

#include "tool/inject/target.hpp"

namespace heapledger::inject {

struct spare_place {
  std::uint64_t address = 0;  // aligned as a return frame wants it
  std::uint64_t bytes = 0;
};

std::vector<spare_place> find_spare_places(const target& in);  // the first ones are the better ones

class borrowed_place {
 public:
  // Into the first that is large enough. Nothing is borrowed where none is.
  borrowed_place(pid_t pid, const std::vector<spare_place>& places, std::size_t bytes);
  ~borrowed_place();  // a thread of it is still held, or it has ended
  borrowed_place(const borrowed_place&) = delete;
  borrowed_place& operator=(const borrowed_place&) = delete;

  std::uint64_t address() const { return address_; }  // 0: none
  void write(const std::vector<char>& content);       // all of it, or the place is none

 private:
  pid_t pid_;
  std::uint64_t address_ = 0;
  std::vector<char> before_;
};

}  // namespace heapledger::inject

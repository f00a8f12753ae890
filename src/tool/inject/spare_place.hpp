// Memory of a process that nobody uses, before it has any of ours: what is left of a page behind the end of a segment
// of the program, of libc or of the loader, which stay where they are. What stands there is put back afterwards.
#pragma once

#include <sys/types.h>

#include <cstddef>
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
  // For a thread, the first that is large enough. Nothing is borrowed where none is.
  borrowed_place(pid_t pid, pid_t tid, const std::vector<spare_place>& places, std::size_t bytes);
  ~borrowed_place();  // a thread of it is still held, or it has ended
  borrowed_place(const borrowed_place&) = delete;
  borrowed_place& operator=(const borrowed_place&) = delete;

  std::uint64_t address() const { return address_; }  // 0: none
  // All of it, or the place is none. What stands first says whose it is: there is room for that (claim_bytes).
  void write(std::vector<char> content);
  // It stays as it is: its thread still needs it.
  void leave() { address_ = 0; }

  static constexpr std::size_t claim_bytes = 16;

 private:
  pid_t pid_;
  pid_t tid_;
  std::uint64_t address_ = 0;
  std::vector<char> before_;
};

// The threads for which places are borrowed, or were when the borrower was killed.
std::vector<pid_t> borrowers_of(pid_t pid, const std::vector<spare_place>& places);

}  // namespace heapledger::inject

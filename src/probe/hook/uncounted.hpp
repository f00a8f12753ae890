// Programs that the process executes, and children of it, that keep no books, in its own books: who reads them should
// know what they do not show. Allocates nothing: usable between vfork and exec, where the books are those of the
// parent.
#pragma once

#include "probe/hook/child_program.hpp"
#include "probe/hook/environment.hpp"

namespace heapledger::probe {

// A forked child that will keep none, in its parent's books.
void note_uncounted_child(wire::uncounted_reason why, const char* program);

class execution {
 public:
  // Notes the program where it will keep no books.
  execution(const child_environment& environment, const child_file& file);

  bool runs_alone() const { return probe::runs_alone(why_); }
  // What exec or posix_spawn returned: where it is not 0 nothing was executed.
  int end(int result) const;

 private:
  wire::uncounted_reason why_ = wire::uncounted_reason::none;
  std::uint64_t* times_ = nullptr;
};

}  // namespace heapledger::probe

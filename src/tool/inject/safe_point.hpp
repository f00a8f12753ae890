// Whether a thread that was stopped somewhere may be made to call functions there: dlopen, and the probe's. It may not
// if it holds a lock that these need (the allocator's, the loader's) or is in the midst of what they change.
//
// Pure: from a stack to a reason. What cannot be known counts as unsafe, but for a stack whose outer end cannot be
// walked: no allocator and no loader calls into code that has no unwind information.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heapledger::inject {

enum class code_kind {
  program,    // the program, a library, the vdso
  generated,  // in no file: written by the program at run time
  libc,
  loader,
  allocator  // a library with a malloc of its own
};

struct placed_frame {
  code_kind where = code_kind::program;
  std::vector<std::string_view> names;  // of the exported function that it is in; none: it is not exported
  bool was_interrupted = false;         // by a signal, whose handler is the frames before it
};

struct stack_facts {
  std::span<const placed_frame> frames;  // innermost first
  bool in_system_call = false;
  bool program_has_malloc = false;  // linked into it: which of its frames are the allocator's cannot be told
};

// Whether a function of libc of this name does nothing but wait, or one thing in the kernel.
bool is_wait(std::string_view name);

// Empty: it is safe. Otherwise what stands against it, for people: "it is in the loader".
std::string why_unsafe(const stack_facts& stack);

}  // namespace heapledger::inject

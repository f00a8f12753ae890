// The hooks of the functions by which a program tells its C++ runtime of unwind tables for code that it made: stacks
// with such code in them go on by these tables, too.
#include "probe/base/attributes.hpp"
#include "probe/hook/generation.hpp"
#include "probe/hook/next.hpp"
#include "probe/hook/process.hpp"
#include "probe/unwind/registered_frames.hpp"

using namespace heapledger::probe;

namespace {

using frame_function = void(void*);

// The runtime may be one that only a plugin brought in, for itself.
void pass_on(const char* name, void* section, void* caller) {
  void* next = next_definition(name);
  if (next == nullptr) next = definition_near(caller, name);
  if (next != nullptr) reinterpret_cast<frame_function*>(next)(section);
}

}  // namespace

HL_EXPORT void __register_frame(void* section) {
  pass_on("__register_frame", section, __builtin_return_address(0));
  if (section != nullptr && keeps_books()) code_made(section);
}

HL_EXPORT void __deregister_frame(void* section) {
  code_unmade(section);
  pass_on("__deregister_frame", section, __builtin_return_address(0));
}

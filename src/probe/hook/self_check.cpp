#include "probe/hook/self_check.hpp"

#include <dlfcn.h>
#include <unwind.h>

#include "probe/publish/segment.hpp"

namespace heapledger::probe {
namespace {

using backtrace_function = _Unwind_Reason_Code(_Unwind_Trace_Fn, void*);
using address_function = _Unwind_Ptr(_Unwind_Context*, int*);
using cfa_function = _Unwind_Word(_Unwind_Context*);

constinit backtrace_function* walk_stack = nullptr;
constinit address_function* address_of = nullptr;
constinit cfa_function* cfa_of = nullptr;
constinit dl_find_object itself = {};

struct comparison {
  const frame_state& caller;
  std::uint32_t node;  // what ours says comes next
  std::uint32_t last;  // where it is not to look; 0: at no node
  bool cut;
  bool started;
  bool equal;
};

// It allocates under its own lock, to sort rules that were registered, and would wait for itself.
bool is_unwinder(std::uint64_t pc) {
  return pc - reinterpret_cast<std::uint64_t>(itself.dlfo_map_start) <
         reinterpret_cast<std::uint64_t>(itself.dlfo_map_end) - reinterpret_cast<std::uint64_t>(itself.dlfo_map_start);
}

_Unwind_Reason_Code compare(_Unwind_Context* context, void* argument) {
  auto& with = *static_cast<comparison*>(argument);
  int exact = 0;
  const std::uint64_t pc = address_of(context, &exact);
  if (!with.started) {
    if (pc != with.caller.pc || cfa_of(context) != with.caller.rsp) return _URC_NO_REASON;
    with.started = true;
  }
  if (pc <= 4096) return _URC_NO_REASON;
  if (with.cut && with.node == 0) return _URC_NORMAL_STOP;
  const wire::node& ours = segment.nodes[with.node];
  const std::uint64_t expected = pc | (exact != 0 ? wire::place_exact_address : 0);
  if (with.node == 0 || (segment.places[ours.place].where & wire::place_address_mask) != expected) with.equal = false;
  with.node = ours.parent;
  return with.equal && (with.node == 0 || with.node != with.last) ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

// Where a stack ends in code of no library, the node of that code; else 0. There is nothing to compare, and libgcc
// aborts at some of it (LuaJIT's).
std::uint32_t end_in_generated_code(std::uint32_t node, stack_cut cut) {
  if (cut != stack_cut::no_rule || node == 0) return 0;
  while (segment.nodes[node].parent != 0) node = segment.nodes[node].parent;
  dl_find_object object;
  const std::uint64_t pc =
      segment.places[segment.nodes[node].place].where & wire::place_address_mask & ~wire::place_exact_address;
  return _dl_find_object(reinterpret_cast<void*>(pc), &object) == 0 ? 0 : node;
}

}  // namespace

void start_self_check() {
  void* library = dlopen("libgcc_s.so.1", RTLD_NOW);
  if (library == nullptr) return;
  address_of = reinterpret_cast<address_function*>(dlsym(library, "_Unwind_GetIPInfo"));
  cfa_of = reinterpret_cast<cfa_function*>(dlsym(library, "_Unwind_GetCFA"));
  walk_stack = reinterpret_cast<backtrace_function*>(dlsym(library, "_Unwind_Backtrace"));
  if (_dl_find_object(reinterpret_cast<void*>(walk_stack), &itself) != 0) walk_stack = nullptr;
}

// A place for a debugger to stop at.
[[gnu::noinline]] void stack_differs(const frame_state& caller, std::uint32_t node) {
  asm volatile("" ::"r"(&caller), "r"(node));
  __atomic_fetch_add(&segment.header->check.differences, 1, __ATOMIC_RELAXED);
}

HL_COLD void check_stack(const frame_state& caller, std::uint32_t node, const stack_walk& stack) {
  if (walk_stack == nullptr || address_of == nullptr || cfa_of == nullptr || is_unwinder(caller.pc)) return;
  const std::uint32_t last = end_in_generated_code(node, stack.cut());
  if (last == node && node != 0) return;
  // Cut by --depth: only its innermost frames can be compared.
  comparison with{caller, node, last, stack.cut() == stack_cut::depth, false, true};
  walk_stack(compare, &with);
  __atomic_fetch_add(&segment.header->check.stacks, 1, __ATOMIC_RELAXED);
  const bool whole = with.node == last || segment.header->stacks == wire::stacks_mode::jit;  // it makes no guesses
  if (!with.started || !with.equal || !whole) stack_differs(caller, node);
}

}  // namespace heapledger::probe

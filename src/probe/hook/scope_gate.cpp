#include "probe/hook/scope_gate.hpp"

#include <cerrno>

#include "probe/base/lock.hpp"
#include "probe/hook/late.hpp"
#include "probe/hook/next.hpp"
#include "probe/scope/kinds.hpp"

namespace heapledger::probe {

constinit throw_refusal thrower = nullptr;
constinit ask_whether_caught may_throw = nullptr;
constinit ask_whether_borne may_fail = nullptr;

namespace {

// What __cxa_get_globals() points to (Itanium C++ ABI, 2.2.2).
struct exception_globals {
  void* caught;
  unsigned uncaught;
};

using globals_getter = exception_globals*();
using thrower_of_nothing = void();
constinit globals_getter* get_exception_globals = nullptr;
constinit thrower_of_nothing* throw_bad_alloc = nullptr;

// Where the C++ library is linked into a program that is linked with us, its functions have names there because we
// refer to them.
extern "C" {
[[gnu::weak]] exception_globals* __cxa_get_globals();
[[gnu::weak]] void _ZSt17__throw_bad_allocv();
}

bool unwinding() {
  return get_exception_globals != nullptr && get_exception_globals()->uncaught != 0;
}

// Code that must not fail: marked so, in the middle of unwinding, or the dynamic linker's own.
bool spared(const books& own, std::uint64_t pc) {
  return own.scopes->spare != 0 || own.scopes->nested || in_loader(reinterpret_cast<const void*>(pc)) || unwinding();
}

// Runs the program's code, outside of all scopes and with the books given back. The scope is kept: somebody may close
// it meanwhile, and what hangs on it is being used.
template <class F>
void call_outside(books& own, F call) {
  const scope_slot* const inside = own.scopes->current;
  const bool held = inside != nullptr && hold_scope(own, inside->handle);
  const scope_handle here = switch_scope(own, 0);
  const auto* const at = reinterpret_cast<const void*>(own.generation);
  own.scopes->notifying = true;
  give(&own, own.known_generation);
  call();
  take(&own, at);
  own.scopes->notifying = false;
  switch_back(own, here);
  if (held) release_scope(here);
}

void notify(books& own, const obstacle& met, scope_event what, std::size_t bytes) {
  if (met.record->notify == nullptr || own.scopes->notifying) return;
  const scope_notice notice{met.scope, what, met.index, bytes};
  call_outside(own, [&notice, call = met.record->notify, user = met.record->user] { call(user, &notice); });
}

// An exception that nobody can catch would end the program.
bool would_terminate(books& own, std::uint64_t pc, bool throws) {
  if (own.scopes->notifying || (throws ? may_throw == nullptr : may_fail == nullptr)) return false;
  int may = 1;
  call_outside(own, [=, &may] { may = throws ? may_throw() : may_fail(reinterpret_cast<const void*>(pc)); });
  return may == 0;
}

bool admit_settled(books& own, std::size_t bytes, std::uint64_t pc, bool throws, const replaced_block& replaced) {
  waivers waived;
  bool sparing_known = false, sparing = false;
  while (own.gated) {
    settle(own);
    obstacle met{};
    const admission result = ask(own, bytes, replaced, waived, met);
    if (result == admission::granted) return true;
    if (result == admission::threshold) {
      notify(own, met, scope_event::threshold, bytes);
      continue;
    }
    if (!sparing_known && met.record->fail) {
      sparing = spared(own, pc) || would_terminate(own, pc, throws);
      sparing_known = true;
    }
    waived.add(met.record);
    const bool fails = met.record->fail && !sparing;
    if (fails) {
      note_refusal(met.record->kind);
      own.scopes->last_refusal = {met.scope, met.index, bytes};
    }
    notify(own, met, scope_event::exceeded, bytes);
    if (fails) return false;
  }
  return true;
}

}  // namespace

HL_COLD bool admit(books& own, std::size_t bytes, std::uint64_t pc, bool throws, const replaced_block& replaced) {
  const bool admitted = admit_settled(own, bytes, pc, throws, replaced);
  if (!admitted && own.scopes->current != nullptr)
    return_leases(own, own.scopes->current->of->index);  // a scope below the one that refuses has granted it
  else
    settle_scope(own);  // leases changed
  return admitted;
}

namespace {

// dlsym would leave an error of its own where dlerror() has the program's, in memory of the program's allocator.
template <class Function>
void look_up_quietly(Function*& out, const char* name, const void* caller) {
  void* const known = is_late() ? their_definition(name) : nullptr;
  out = reinterpret_cast<Function*>(known != nullptr ? known : definition_near(caller, name));
}

void look_up_exceptions(const void* caller) {
  look_up_quietly(get_exception_globals, "__cxa_get_globals", caller);
  look_up_quietly(throw_bad_alloc, "_ZSt17__throw_bad_allocv", caller);
  if (get_exception_globals == nullptr) get_exception_globals = __cxa_get_globals;
  if (throw_bad_alloc == nullptr) throw_bad_alloc = _ZSt17__throw_bad_allocv;
}

}  // namespace

// Asked once: where there is no C++ library, each time would cost lookups in all libraries.
void prepare_refusals() {
  static constinit bool asked = false;
  if (!__atomic_exchange_n(&asked, true, __ATOMIC_RELAXED)) look_up_exceptions(nullptr);
}

HL_COLD void throw_bad_alloc_for(const void* caller) {
  // Operator new came with a library that was opened later.
  if (throw_bad_alloc == nullptr) look_up_exceptions(caller);
  if (throw_bad_alloc != nullptr) throw_bad_alloc();
}

template <bool Throws>
HL_COLD void* refuse(books* own, void* block, std::uint64_t pc) {
  const refusal what = own->scopes->last_refusal;
  give(own, own->known_generation);
  next.free(block);
  if constexpr (Throws) {
    if (thrower != nullptr) thrower(&what);
    throw_bad_alloc_for(reinterpret_cast<const void*>(pc));
  }
  errno = ENOMEM;
  return nullptr;
}
template void* refuse<true>(books*, void*, std::uint64_t);
template void* refuse<false>(books*, void*, std::uint64_t);

}  // namespace heapledger::probe

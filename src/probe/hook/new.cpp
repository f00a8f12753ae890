// The hooks of operator new and delete, so that a stack begins at the code that said `new`.
//
// Where the program brings its own form of one of them, the others must behave as the standard says: fall back to it.
// Then they are passed to the library's own definitions, which do, and end in malloc and free.
#include <cerrno>
#include <cstdlib>

#include "probe/hook/aligned.hpp"
#include "probe/hook/change_kind.hpp"
#include "probe/hook/event.hpp"
#include "probe/hook/scope_gate.hpp"

using namespace heapledger::probe;

extern "C" [[gnu::weak]] void (*_ZSt15get_new_handlerv())();

namespace {

constexpr auto single = block_kind::from_new;
constexpr auto array = block_kind::from_new_array;

// One of the operators, and what stands behind ours once that is known for good.
struct hooked_operator {
  const char* name;
  const char* of_one;  // what the form for arrays goes on to; nullptr: that of a delete
  void* found;
};

void* behind(hooked_operator& of, const void* caller) {
  void* found = __atomic_load_n(&of.found, __ATOMIC_RELAXED);
  if (found != nullptr) return found;
  found = next_symbol(of.name, caller);
  if (found == nullptr) std::abort();  // nobody could have called us: no C++ library
  if (operators_stay()) __atomic_store_n(&of.found, found, __ATOMIC_RELAXED);
  return found;
}

bool new_handler_made_room() {
  const auto handler = _ZSt15get_new_handlerv != nullptr ? _ZSt15get_new_handlerv() : nullptr;
  if (handler != nullptr) handler();
  return handler != nullptr;
}
void* allocate_again(std::size_t bytes) {
  return allocate_tagged(next.operator_new, bytes);
}
void* allocate_again(std::size_t bytes, std::size_t alignment) {
  return aligned_event(alignment).block(next.memalign(alignment, with_tag(bytes)), bytes);
}

// Out of memory, and nothing stands behind ours: the C++ library is linked into a program that is linked with us, so
// ours came first, and its own were left out.
template <block_kind Kind, bool Throws, class... Arguments>
HL_COLD void* without_library(const frame_state& caller, std::size_t bytes, Arguments... arguments) {
  if constexpr (Throws) {
    while (new_handler_made_room())
      if (void* const block = allocate_again(bytes, arguments...); block != nullptr)
        return book_block<Kind, Throws>(block, bytes, caller);
    throw_bad_alloc_for(reinterpret_cast<const void*>(caller.pc));
    std::abort();  // no part of the program has exceptions
  }
  errno = ENOMEM;
  return nullptr;
}

// Out of memory: the library's own operator new knows the new-handler and how to throw. If its handler made room, the
// block was booked as malloc's, and becomes what it is. The form for arrays goes on to the other one, often by a jump:
// then we would be the caller.
template <block_kind Kind, bool Throws, class... Arguments>
HL_COLD void* ask_library(hooked_operator& of, std::uint64_t pc, std::uint64_t rsp, std::uint64_t rbp,
                          std::size_t bytes, Arguments... arguments) {
  const auto* const place = reinterpret_cast<const void*>(pc);
  if (take_operators_over_for(place))  // not those that align: they have asked
    if (void* const block = allocate_tagged(next.operator_new, bytes); block != nullptr)
      return book_block<Kind, Throws>(block, bytes, {pc, rsp, rbp});
  const bool direct = next.cxx_direct;
  void* const found = direct ? next_symbol(of.of_one, place) : behind(of, place);
  if (found == nullptr) return without_library<Kind, Throws>({pc, rsp, rbp}, bytes, arguments...);
  void* const block = reinterpret_cast<void* (*)(std::size_t, Arguments...)>(found)(bytes, arguments...);
  if (block != nullptr && direct) change_kind(block, Kind);
  return block;
}

// Unless it is that there is nothing to free.
template <block_kind Kind, class... Arguments>
HL_COLD void pass_delete(hooked_operator& of, const void* caller, void* block, Arguments... arguments) {
  if (take_operators_over_for(caller) || next.cxx_direct) {
    if (block != nullptr) free_block<Kind>(block);
  } else {
    reinterpret_cast<void (*)(void*, Arguments...)>(behind(of, caller))(block, arguments...);
  }
}

HL_HOT void* fresh(std::size_t bytes, std::size_t alignment, const void* caller, const aligned_event& event) {
  if (HL_UNLIKELY(!next.cxx_direct) && !take_operators_over_for(caller)) return nullptr;
  return event.block(next.memalign(alignment, with_tag(bytes)), bytes);
}

}  // namespace

#define HL_NEW(symbol, of_one, kind, throws, parameters, ...)                                        \
  static constinit hooked_operator of_##symbol{#symbol, #of_one, nullptr};                           \
  HL_EXPORT void* symbol parameters {                                                                \
    void* block = allocate_tagged(next.operator_new, bytes);                                         \
    if (HL_UNLIKELY(block == nullptr)) {                                                             \
      const frame_state caller = HL_CALLER();                                                        \
      return ask_library<kind, throws>(of_##symbol, caller.pc, caller.rsp, caller.rbp, __VA_ARGS__); \
    }                                                                                                \
    return book_block<kind, throws>(block, bytes, HL_CALLER());                                      \
  }
#define HL_NEW_ALIGNED(symbol, of_one, kind, throws, parameters, ...)                                \
  static constinit hooked_operator of_##symbol{#symbol, #of_one, nullptr};                           \
  HL_EXPORT void* symbol parameters {                                                                \
    const aligned_event event(align);                                                                \
    void* block = fresh(bytes, align, __builtin_return_address(0), event);                           \
    if (HL_UNLIKELY(block == nullptr)) {                                                             \
      const frame_state caller = HL_CALLER();                                                        \
      return ask_library<kind, throws>(of_##symbol, caller.pc, caller.rsp, caller.rbp, __VA_ARGS__); \
    }                                                                                                \
    return book_block<kind, throws>(block, bytes, HL_CALLER());                                      \
  }
#define HL_DELETE(symbol, kind, parameters, ...)                                       \
  static constinit hooked_operator of_##symbol{#symbol, nullptr, nullptr};             \
  HL_EXPORT void symbol parameters {                                                   \
    if (HL_UNLIKELY(reinterpret_cast<std::uintptr_t>(block) < next.deletes_from))      \
      return pass_delete<kind>(of_##symbol, __builtin_return_address(0), __VA_ARGS__); \
    free_block<kind>(block);                                                           \
  }

using nothrow = const void*;

HL_NEW(_Znwm, _Znwm, single, true, (std::size_t bytes), bytes)
HL_NEW(_Znam, _Znwm, array, true, (std::size_t bytes), bytes)
HL_NEW(_ZnwmRKSt9nothrow_t, _ZnwmRKSt9nothrow_t, single, false, (std::size_t bytes, nothrow tag), bytes, tag)
HL_NEW(_ZnamRKSt9nothrow_t, _ZnwmRKSt9nothrow_t, array, false, (std::size_t bytes, nothrow tag), bytes, tag)
HL_NEW_ALIGNED(_ZnwmSt11align_val_t, _ZnwmSt11align_val_t, single, true, (std::size_t bytes, std::size_t align), bytes,
               align)
HL_NEW_ALIGNED(_ZnamSt11align_val_t, _ZnwmSt11align_val_t, array, true, (std::size_t bytes, std::size_t align), bytes,
               align)
HL_NEW_ALIGNED(_ZnwmSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_tRKSt9nothrow_t, single, false,
               (std::size_t bytes, std::size_t align, nothrow tag), bytes, align, tag)
HL_NEW_ALIGNED(_ZnamSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_tRKSt9nothrow_t, array, false,
               (std::size_t bytes, std::size_t align, nothrow tag), bytes, align, tag)

HL_DELETE(_ZdlPv, single, (void* block), block)
HL_DELETE(_ZdaPv, array, (void* block), block)
HL_DELETE(_ZdlPvm, single, (void* block, std::size_t bytes), block, bytes)
HL_DELETE(_ZdaPvm, array, (void* block, std::size_t bytes), block, bytes)
HL_DELETE(_ZdlPvRKSt9nothrow_t, single, (void* block, nothrow tag), block, tag)
HL_DELETE(_ZdaPvRKSt9nothrow_t, array, (void* block, nothrow tag), block, tag)
HL_DELETE(_ZdlPvSt11align_val_t, single, (void* block, std::size_t align), block, align)
HL_DELETE(_ZdaPvSt11align_val_t, array, (void* block, std::size_t align), block, align)
HL_DELETE(_ZdlPvmSt11align_val_t, single, (void* block, std::size_t bytes, std::size_t align), block, bytes, align)
HL_DELETE(_ZdaPvmSt11align_val_t, array, (void* block, std::size_t bytes, std::size_t align), block, bytes, align)
HL_DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, single, (void* block, std::size_t align, nothrow tag), block, align, tag)
HL_DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, array, (void* block, std::size_t align, nothrow tag), block, align, tag)

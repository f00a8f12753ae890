// The hooks of operator new and delete, so that a stack begins at the code that said `new`.
//
// Where the program brings its own form of one of them, the others must behave as the standard says: fall back to it.
// Then they are passed to the library's own definitions, which do, and end in malloc and free.
#include <cstdlib>

#include "probe/hook/aligned.hpp"
#include "probe/hook/change_kind.hpp"
#include "probe/hook/event.hpp"

using namespace heapledger::probe;

namespace {

constexpr auto single = block_kind::from_new;
constexpr auto array = block_kind::from_new_array;

template <class Function>
Function* behind(const char* name, const void* caller) {
  void* const found = next_symbol(name, caller);
  if (found == nullptr) std::abort();  // nobody could have called us: no C++ library
  return reinterpret_cast<Function*>(found);
}

// Out of memory: the library's own operator new knows the new-handler and how to throw. If its handler made room, the
// block was booked as malloc's, and becomes what it is. The form for arrays goes on to the other one, often by a jump:
// then we would be the caller.
template <class... Arguments>
HL_COLD void* ask_library(const char* name, const char* of_one, block_kind kind, const void* caller,
                          Arguments... arguments) {
  if (next.cxx_direct) name = of_one;
  void* block = behind<void*(Arguments...)>(name, caller)(arguments...);
  if (block != nullptr && next.cxx_direct) change_kind(block, kind);
  return block;
}

// Unless it is that there is nothing to free.
template <class... Arguments>
HL_COLD void pass_delete(const char* name, const void* caller, Arguments... arguments) {
  if (next.cxx_direct) return;
  behind<void(Arguments...)>(name, caller)(arguments...);
}

HL_HOT void* fresh(std::size_t bytes, std::size_t alignment, const aligned_event& event) {
  if (HL_UNLIKELY(!next.cxx_direct)) return nullptr;
  return event.block(next.memalign(alignment, with_tag(bytes)), bytes);
}

}  // namespace

#define HL_NEW(symbol, of_one, kind, throws, parameters, ...)                               \
  HL_EXPORT void* symbol parameters {                                                       \
    void* block = allocate_tagged(next.operator_new, bytes);                                \
    if (HL_UNLIKELY(block == nullptr))                                                      \
      return ask_library(#symbol, #of_one, kind, __builtin_return_address(0), __VA_ARGS__); \
    return book_block<kind, throws>(block, bytes, HL_CALLER());                             \
  }
#define HL_NEW_ALIGNED(symbol, of_one, kind, throws, parameters, ...)                       \
  HL_EXPORT void* symbol parameters {                                                       \
    const aligned_event event(align);                                                       \
    void* block = fresh(bytes, align, event);                                               \
    if (HL_UNLIKELY(block == nullptr))                                                      \
      return ask_library(#symbol, #of_one, kind, __builtin_return_address(0), __VA_ARGS__); \
    return book_block<kind, throws>(block, bytes, HL_CALLER());                             \
  }
#define HL_DELETE(symbol, kind, parameters, ...)                                  \
  HL_EXPORT void symbol parameters {                                              \
    if (HL_UNLIKELY(reinterpret_cast<std::uintptr_t>(block) < next.deletes_from)) \
      return pass_delete(#symbol, __builtin_return_address(0), __VA_ARGS__);      \
    free_block<kind>(block);                                                      \
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

// The allocator behind us: whatever the dynamic linker finds next for each name.
#pragma once

#include "probe/base/attributes.hpp"

#include <cstddef>
#include <cstdint>

namespace heapledger::probe {

struct next_allocator {
  void* (*malloc)(std::size_t);
  void (*free)(void*);
  void* (*calloc)(std::size_t, std::size_t);
  void* (*realloc)(void*, std::size_t);
  void* (*memalign)(std::size_t, std::size_t);
  void* (*aligned_alloc)(std::size_t, std::size_t);
  int (*posix_memalign)(void**, std::size_t, std::size_t);
  std::size_t (*usable_size)(void*);
  bool glibc;       // chunk sizes can be read in front of the block; not known until `usable_size` was asked once
  bool cxx_direct;  // operators new and delete are the C++ library's: ours need not go through them
  // The same in the form that the fast paths ask: malloc, or what gives nothing; and where the blocks begin that our
  // operator delete frees itself, which nullptr never is.
  void* (*operator_new)(std::size_t);
  std::uintptr_t deletes_from;
  void* (*mallocx)(std::size_t, int);  // nullptr where it is not jemalloc
  std::size_t (*nallocx)(std::size_t, int);
};

HL_INTERNAL extern next_allocator next;

// Fills `next`; false when the essential names are missing. Calls dlsym.
bool find_next_allocator();

// The definition behind ours of a C function; nullptr where there is none.
void* next_definition(const char* name);
// The same of what most programs have not: asked for that, dlsym allocates, and leaves an error for the program.
void* next_definition_if_any(const char* name);
template <class Function>
void look_up_next(Function*& out, const char* name) {
  out = reinterpret_cast<Function*>(next_definition(name));
}

// A C program has no operators until a plugin brings them: whose they are is asked when one is meant for the first
// time. True: from now on ours allocate by themselves.
bool take_operators_over_for(const void* caller);
// What stands behind ours was there at the program's start.
bool operators_stay();

// Whether code at this address is that of an allocator which is not the C library's: what it maps is for its blocks.
bool in_next_allocator(std::uint64_t address);

bool in_one_object(const void* a, const void* b);
// By address. __libc_malloc tells nothing: allocators define that, too.
bool is_of_libc(const void* function);

// What a library means by a name that the global scope lacks: plugins bring libraries for themselves. By an address in
// its code; nullptr: nothing.
void* definition_near(const void* code, const char* name);

// The definition behind ours of a mangled C++ name, or nullptr. `caller` is who means it.
void* next_symbol(const char* name, const void* caller);

// Allocations that dlsym itself makes while it is asked.
void* bootstrap_allocate(std::size_t bytes, std::size_t alignment);
bool is_bootstrap(const void* block);
std::size_t bootstrap_size(const void* block);

}  // namespace heapledger::probe

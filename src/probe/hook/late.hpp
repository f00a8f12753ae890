// A probe that was loaded into a program which ran already (docs/attach-internals.md). Then it stands last in the
// loader's scope, where dlsym(RTLD_NEXT) finds nothing of the program's: what its names mean to the program is looked
// up here.
#pragma once

#include "probe/loader/bound_words.hpp"
#include "probe/loader/scope.hpp"

namespace heapledger::probe {

bool is_late();
void be_late();  // from now on; with the loader's lock held, as it is when a library's constructors run

// With that lock held: as it is now.
loader_scope& scope_of_program();
void* late_next(const char* name);
// The program itself defines a function of the C allocator.
bool program_allocates_itself();

// Something behind us takes the size that it is told of a block that is given back for true, as those of the C and the
// C++ library do not. Blocks that we asked for are larger than the program knows.
bool sizes_are_believed();

// Every name that we define, with what stands behind it. Looked up anew; `operators`: those of C++ too.
bindings look_up_bindings(bool operators);
// Of these, the ones that the program needs no more once nothing is booked: all, or without those that give blocks
// back.
bindings bindings_to_undo(bool releases);
// Whether an address lies in an operator new that stands behind one of ours. What it asked malloc for while words were
// being exchanged is deleted by ours, and no mistake.
bool in_their_operator_new(std::uint64_t address);

// As it was when they were looked up; nullptr: nothing, or they were not.
void* their_definition(const char* name);

}  // namespace heapledger::probe

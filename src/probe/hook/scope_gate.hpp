// What an allocation in a scope with a budget meets before it is booked: leases, the program's own callbacks, refusal.
#pragma once

#include "probe/base/attributes.hpp"

#include "probe/account/tag.hpp"
#include "probe/hook/process.hpp"
#include "probe/scope/budget.hpp"

namespace heapledger::probe {

// Whether the allocation may be booked. `own` is taken, and is again when this returns; in between the program's
// callbacks may have run. `pc`: the caller of the allocation function. `throws`: a refusal will be thrown.
HL_COLD bool admit(books& own, std::size_t bytes, std::uint64_t pc, bool throws = false,
                   const replaced_block& replaced = {});

// Gives a block back that was refused, and the books. nullptr, with errno set; or throws, as operator new does.
template <bool Throws>
HL_COLD void* refuse(books* own, void* block, std::uint64_t pc);

// Finds in the C++ library what cannot be looked for in an allocation.
void prepare_refusals();
// As the C++ library's operator new does. `caller`: who means its functions. Returns where there is no C++ library.
void throw_bad_alloc_for(const void* caller);

// The program's own way to throw: see heapledger_on_refused_new(). Set once.
using throw_refusal = void (*)(const refusal* what);
HL_INTERNAL extern throw_refusal thrower;
// Whether it could be caught: see heapledger_on_refused_new_ask(). Set once.
using ask_whether_caught = int (*)();
HL_INTERNAL extern ask_whether_caught may_throw;
// The same of malloc, which the program's own operator new may have called: see heapledger_on_refused_malloc_ask().
using ask_whether_borne = int (*)(const void* caller);
HL_INTERNAL extern ask_whether_borne may_fail;

}  // namespace heapledger::probe

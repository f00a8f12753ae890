// Where a function stands: on the fast path, inlined into the caller, or off it and out of its way.
#pragma once

#define HEAPLEDGER_POOL_HOT [[gnu::always_inline]] inline
#define HEAPLEDGER_POOL_COLD [[gnu::cold, gnu::noinline]]

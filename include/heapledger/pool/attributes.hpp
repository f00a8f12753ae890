// Where a function stands: on the fast path, inlined into the caller, or off it and out of its way; and what is one for
// all who include it.
#pragma once

#define HEAPLEDGER_POOL_HOT [[gnu::always_inline]] inline
#define HEAPLEDGER_POOL_COLD [[gnu::cold, gnu::noinline]]

// One for the whole process, also where the program or a library is built with -fvisibility=hidden: what says whose
// memory is whose must be known to all who use a pool.
#define HEAPLEDGER_POOL_ONE [[gnu::visibility("default")]]

// For what touches memory that AddressSanitizer was told to guard. noipa: GCC would otherwise read the word in the
// caller, where it is checked, and pass its value.
#if defined(__GNUC__) && !defined(__clang__)
#define HEAPLEDGER_POOL_UNCHECKED [[gnu::no_sanitize_address, gnu::noipa]]
#else
#define HEAPLEDGER_POOL_UNCHECKED [[gnu::no_sanitize_address, gnu::noinline]]
#endif

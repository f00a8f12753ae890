// Words that say where a function stands: on the fast path or off it, and what leaves the library.
#pragma once

#define HL_HOT [[gnu::always_inline]] inline
#define HL_COLD [[gnu::cold, gnu::noinline]]
#define HL_EXPORT extern "C" [[gnu::visibility("default")]]
// For variables of the library itself: without it each access goes by the global offset table.
#define HL_INTERNAL [[gnu::visibility("hidden")]]
#define HL_LIKELY(x) __builtin_expect(static_cast<bool>(x), 1)
#define HL_UNLIKELY(x) __builtin_expect(static_cast<bool>(x), 0)

/* heapledger's C interface: scopes and budgets, marks and snapshots.
 *
 * A scope is a unit of work that memory is charged to. Whatever a thread allocates while it is in a scope is charged to
 * that scope and to all its ancestors; a free credits the scope that allocated, whoever frees and whenever.
 *
 * The functions live in the probe, libheapledger.so, which is preloaded (heapledger run, LD_PRELOAD) or linked. They
 * are weak: a program that uses them links and runs without the probe, and must then not call them. Ask first:
 *
 *     if (heapledger_scope_enter) ...
 *
 * The C++ header heapledger/scope.hpp does so, and is the more comfortable one. (A program that is not linked with the
 * probe sees a preloaded one only if it is position-independent, which is what compilers do by default.)
 *
 * Unless said otherwise each function may be called by any thread at any time, changes no errno, and allocates nothing
 * from the heap.
 */
#ifndef HEAPLEDGER_HEAPLEDGER_H
#define HEAPLEDGER_HEAPLEDGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef HEAPLEDGER_WEAK
#define HEAPLEDGER_WEAK __attribute__((weak))
#endif

/* Names one scope; 0 is the whole process. A plain number: copy it, keep it, hand it to other threads. The name of a
 * scope that is gone is stale, and never another scope's. */
typedef uint64_t heapledger_scope;

#define HEAPLEDGER_UNLIMITED UINT64_MAX

enum { HEAPLEDGER_STOP = 0, HEAPLEDGER_FAIL = 1 };

/* Limits on what a scope and its descendants use together. */
typedef struct heapledger_budget {
  uint64_t live_bytes;      /* allocated and not yet freed, in requested bytes */
  uint64_t allocated_bytes; /* ever allocated */
  uint64_t allocations;     /* ever made */
  int on_exceed;            /* HEAPLEDGER_STOP: call the notify function, and let the allocation pass;
                             * HEAPLEDGER_FAIL: call it, and fail the allocation: never over the limit by one byte */
  uint64_t reserve_bytes;   /* of the limit on live bytes, the part that only code which must not fail may use */
} heapledger_budget;

typedef struct heapledger_usage {
  int64_t live_bytes;
  int64_t live_blocks;
  int64_t peak_bytes; /* highest live_bytes, with descendants; true to within error_bytes */
  uint64_t allocated_bytes;
  uint64_t allocations;
  uint64_t frees;
  int64_t error_bytes; /* of peak_bytes; 0 where one thread worked in the scope */
} heapledger_usage;

/* 1 if the probe is in the process and keeps books of what the program allocates, else 0: also where the program's
 * malloc is not the probe's, since it has one of its own, as with a sanitizer, or a library that comes first. Then
 * there are no scopes. Cost: some ns. */
int heapledger_active(void) HEAPLEDGER_WEAK;

/* Makes a scope below `parent`, or below its nearest open ancestor. `name` (at most 255 bytes of it, copied) says what
 * kind of work it is: in profiles, scopes of one name below parents of one name are one. `budget` may be NULL. 0 when
 * there is no room: what would be charged to the scope is then charged to the parent, and the profile counts it as a
 * loss. Close it when the work is done. Cost: some hundred ns; no lock, as a rule. */
heapledger_scope heapledger_scope_create(const char* name, size_t name_bytes, heapledger_scope parent,
                                         const heapledger_budget* budget) HEAPLEDGER_WEAK;

/* From now on this thread is in `scope` (0: in none), or where that was closed, in its nearest open ancestor; where it
 * is gone, in none, since nothing is known of its ancestors any more. A thread is in none for good once the last of its
 * destructors has run. Returns the scope that the thread was in. Cost: some ns; no lock. */
heapledger_scope heapledger_scope_enter(heapledger_scope scope) HEAPLEDGER_WEAK;

/* The same, back to the scope that heapledger_scope_enter() returned: also where that was closed meanwhile, as threads
 * that are in it stay. */
heapledger_scope heapledger_scope_leave(heapledger_scope before) HEAPLEDGER_WEAK;

/* The scope that this thread is in. Cost: some ns. */
heapledger_scope heapledger_scope_current(void) HEAPLEDGER_WEAK;

/* Ends a scope: nobody can enter it any more. Threads that are in it stay, and what lives in it stays charged to it.
 * When its last block is freed it is recycled. Stale and closed handles are ignored. Runs the `destroy` functions of
 * scopes that were recycled. Cost: below a microsecond as a rule; looks through closed scopes now and then, for which
 * it takes a lock. */
void heapledger_scope_close(heapledger_scope scope) HEAPLEDGER_WEAK;

/* What the scope used; with its descendants, unless `alone` is not 0 (peak_bytes always has them). Exact while its
 * threads rest; else off by no more than the events being booked. 1, or 0 for a stale handle. Cost: some ten ns; grows
 * with the scope's descendants, for which it takes a lock, and with the threads of the process where more than eight
 * worked in it. */
int heapledger_scope_usage(heapledger_scope scope, int alone, heapledger_usage* out) HEAPLEDGER_WEAK;

enum { HEAPLEDGER_GONE = 0, HEAPLEDGER_OPEN = 1, HEAPLEDGER_CLOSED = 2 };

/* Where in its life the scope is. Closed: nobody can enter it, and it is not yet found to have nothing left. Cost: some
 * ns. */
int heapledger_scope_state(heapledger_scope scope) HEAPLEDGER_WEAK;

/* Copies the name, cut and NUL-terminated as snprintf does; returns its length. "" for the process and stale handles.
 * Cost: some ten ns. */
size_t heapledger_scope_name(heapledger_scope scope, char* out, size_t capacity) HEAPLEDGER_WEAK;

/* The budget that the scope was made with; 1, or 0 for a stale handle. Cost: some ns. */
int heapledger_scope_limits(heapledger_scope scope, heapledger_budget* out) HEAPLEDGER_WEAK;

/* The scope that it was made below; 0 is the process, also for a stale handle. Cost: some ns. */
heapledger_scope heapledger_scope_parent(heapledger_scope scope) HEAPLEDGER_WEAK;

enum { HEAPLEDGER_THRESHOLD = 1, HEAPLEDGER_EXCEEDED = 2 };

typedef struct heapledger_notice {
  heapledger_scope scope;
  int what;                 /* HEAPLEDGER_THRESHOLD: live bytes are about to reach a threshold;
                             * HEAPLEDGER_EXCEEDED: an allocation does not fit into the budget */
  uint32_t index;           /* the threshold; or 0 live bytes, 1 allocated bytes, 2 allocations */
  uint64_t requested_bytes; /* of the allocation that met it */
} heapledger_notice;

/* Called in the thread that allocates, before it is served, outside of all scopes: it may allocate and free, and must
 * not throw. Whatever locks the caller of malloc holds are held meanwhile. */
typedef void (*heapledger_notify)(void* user, const heapledger_notice* notice);

/* Attaches the one thing that may hang on a scope: `user`, with what to call when something happens, and what to call
 * with it once the scope was recycled (from a later create or close, in any thread). Returns what hangs on it: `user`,
 * or what was there before, which stays; NULL for a stale handle. With `user` NULL it only asks. The functions' library
 * must stay loaded. Who uses what it returned holds the scope meanwhile: another thread may close it. Cost: some ns; to
 * attach takes a lock. */
void* heapledger_scope_attach(heapledger_scope scope, void* user, heapledger_notify notify,
                              void (*destroy)(void* user)) HEAPLEDGER_WEAK;

/* The same with a kind: a number that says what `user` is, 0 in heapledger_scope_attach(). Returns only what hangs
 * there as this kind, else NULL, and then `user` was not attached either. Whoever attaches takes a number of their own,
 * drawn by chance: a library finds its own objects only. scope.hpp does so, for stop tokens and reactions; a scope on
 * which something else hangs has none in C++. */
void* heapledger_scope_attach_as(heapledger_scope scope, uint64_t kind, void* user, heapledger_notify notify,
                                 void (*destroy)(void* user)) HEAPLEDGER_WEAK;

/* heapledger_scope_create() and heapledger_scope_attach_as() at once: no lock is taken for it. Where it returns 0
 * nothing is attached. */
heapledger_scope heapledger_scope_create_with(const char* name, size_t name_bytes, heapledger_scope parent,
                                              const heapledger_budget* budget, uint64_t kind, void* user,
                                              heapledger_notify notify, void (*destroy)(void* user)) HEAPLEDGER_WEAK;

/* Between these two a scope is not recycled, closed or not, and neither are those above it: what hangs on them stays. 0
 * for a stale handle, which is not to be released. They nest. While a notify function runs its scope is held. Cost:
 * some ten ns. */
int heapledger_scope_hold(heapledger_scope scope) HEAPLEDGER_WEAK;
void heapledger_scope_release(heapledger_scope scope) HEAPLEDGER_WEAK;

/* From now on the notify function hears when live bytes reach so many; again after they were an eighth lower. To be set
 * before the scope is entered. Returns the threshold's index, or -1 where there are four already, or the handle is
 * stale. Cost: takes a lock; allocations in the scope then ask as with a budget on live bytes. */
int heapledger_scope_threshold(heapledger_scope scope, uint64_t live_bytes) HEAPLEDGER_WEAK;

/* From now on the peak of the scope is exact (error_bytes is 0) whatever threads work in it, unless it has a budget or
 * a threshold on live bytes. To be set before the scope is entered. 1, or 0 for a stale handle. Cost: takes a lock;
 * each event in the scope and below it then costs some ten ns more, and a cache line that its threads share. For tests.
 */
int heapledger_scope_exact_peak(heapledger_scope scope) HEAPLEDGER_WEAK;

/* Between heapledger_spare(1) and heapledger_spare(0), which nest, no budget fails an allocation of this thread: for
 * code that must not fail. What passes over a limit is counted. Unwinding, and the dynamic linker, are spared without
 * it. Ended in another thread, it is ended in none. Returns 0 where there was no memory to note it. Cost: some ns; no
 * lock. */
int heapledger_spare(int on) HEAPLEDGER_WEAK;

typedef struct heapledger_refusal {
  heapledger_scope scope;
  uint32_t resource; /* 0 live bytes, 1 allocated bytes, 2 allocations */
  uint64_t requested_bytes;
} heapledger_refusal;

/* What operator new calls where a budget refuses it; it is to throw. Without it, or when it returns, std::bad_alloc is
 * thrown. One for the process: the first that is set stays (NULL sets none), and its library must stay loaded.
 * scope.hpp sets one that throws heapledger::budget_exceeded. New-handlers are not called. Cost: some ns. */
void heapledger_on_refused_new(void (*throws)(const heapledger_refusal* what)) HEAPLEDGER_WEAK;

/* Asked before a budget refuses operator new, in the thread that allocates and outside of all scopes: 0 says that an
 * exception could not be caught here, and lets the allocation pass, as in code that is spared. One for the process, as
 * above. scope.hpp sets one that looks for functions which are noexcept. Cost: some ns. */
void heapledger_on_refused_new_ask(int (*may_throw)(void)) HEAPLEDGER_WEAK;

/* Asked before a budget refuses the other allocation functions, likewise, with the return address of their caller: it
 * may be an operator new of the program's own, which throws where malloc fails. One for the process, as above.
 * scope.hpp sets one that knows its own. Cost: some ns. */
void heapledger_on_refused_malloc_ask(int (*may_fail)(const void* caller)) HEAPLEDGER_WEAK;

/* Charges memory that does not come from malloc (mmap, a GPU) to a scope: so many bytes more, or fewer. Counts as an
 * allocation without a stack, or a free; 0 is neither. More is charged to the nearest open ancestor where the scope was
 * closed; fewer to the scope itself until it is gone, or to the nearest above it that has as much, in portions of any
 * size: it counts as a free where a block ends by it, and with the last byte all end. Nothing is given back that was
 * not charged before, or was to the parent of a forked child. 1, or 0 where the scope's budget refuses. Cost: a lock,
 * two switches of scope, and an event's. */
int heapledger_scope_foreign(heapledger_scope scope, int64_t bytes) HEAPLEDGER_WEAK;

/* Charges one block to another scope from now on: a free in the scope that had it, an allocation in the other. Nobody
 * else may free or resize it meanwhile. Where the other was closed, its nearest open ancestor has the block. 1, or 0
 * where the block is not from the program's allocator, or the budget refuses: then nothing changed; 1 where no books
 * are kept. Cost: two switches of scope, a free and an allocation; may take a lock. */
int heapledger_scope_transfer(void* block, heapledger_scope to) HEAPLEDGER_WEAK;

/* A mark names this moment: the profile's timeline shows it, with the live bytes of now. A snapshot also keeps what
 * every stack has allocated and freed so far: any two can be compared ("what was allocated between them and still
 * lives"), and a report made of the profile as it was then. `name` (at most 79 bytes of it, copied) may be NULL: then
 * it is called by its time.
 *
 * What this thread did is in them to the last event; of other threads, what they had booked when their cells were
 * copied. Both may be called in signal handlers. Cost: a mark, a microsecond and a lock; a snapshot, some ten
 * nanoseconds for each stack that the program ever had, and some 15 bytes in the profile. A full table is counted as a
 * loss, never waited for. */
void heapledger_mark(const char* name) HEAPLEDGER_WEAK;
void heapledger_snapshot(const char* name) HEAPLEDGER_WEAK;
enum { HEAPLEDGER_SITE_FRAMES = 32 };

/* What scopes did at one place. */
typedef struct heapledger_site {
  uint32_t id; /* of this place, as long as the process lives */
  uint32_t frame_count;
  uint64_t allocations, allocated_bytes, frees, freed_bytes;
  uint64_t frames[HEAPLEDGER_SITE_FRAMES]; /* return addresses, from the allocation outward */
} heapledger_site;

/* What all scopes of the kind of this one and of the kinds below it did until now, recycled ones too, by the stack that
 * allocated: at most `capacity` places are filled in, in the order of their ids; returns how many there are. Right
 * while their threads rest. Cost: grows with what the whole process did; made for tests that failed. */
size_t heapledger_scope_sites(heapledger_scope scope, heapledger_site* out, size_t capacity) HEAPLEDGER_WEAK;

#ifdef __cplusplus
}
#endif

#endif

// The segment: one file per process, mapped MAP_SHARED by the probe, read from outside by the tool.
//
// The probe is its only writer, but for the requests in watch.hpp, and never waits for a reader. A reader copies what
// it needs, checks every index against the capacities in *its own* copy of the header, and only then uses it: the file
// may come from a crashed, a still running, or a hostile process.
//
//   header (four pages) | regions, each an array with a capacity fixed at creation and a count that only grows
//
// The file is sparse: a page that holds nothing yet takes no memory. All integers are little endian.
//
// What a reader adds up. The books of account A are the sum of
//   accounts[A]                 written by one writer, its owner, with plain stores
//   every cells[i] with id == A+1   other writers' deltas, and what was folded when a delta table was full
// A fold moves numbers from one cell to another and is journalled (`fold_journal`): a reader that finds a journal
// entry in state `valid` takes the values in it for the destination, and ignores the source.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wire/lifetime.hpp"
#include "wire/watch.hpp"

namespace heapledger::wire {

inline constexpr std::uint64_t segment_magic = 0x3130'4745'534c'4848;  // "HHLSEG01"
inline constexpr std::uint32_t segment_version = 7;
inline constexpr std::size_t header_bytes = 16384;

struct region {
  std::uint64_t offset;    // bytes from the start of the file, page aligned
  std::uint64_t capacity;  // elements
};

// Each event pair is one 16-byte store, so that a kill at any instruction leaves both or neither.
// Net values are signed: a thread that frees what others allocated goes below zero.
struct alignas(64) cell {
  std::uint64_t allocations;
  std::uint64_t allocated_bytes;
  std::uint64_t frees;
  std::uint64_t freed_bytes;
  std::uint64_t temporaries;    // freed by the same thread before its next allocation
  std::uint64_t reallocations;  // allocations that came from realloc of a block
  std::int64_t peak_bytes;      // net bytes of this cell at the peak that began epoch `peak_epoch`
  std::uint32_t peak_epoch;     // when it differs from the header's, the net bytes have not changed since the peak
  std::uint32_t id;             // in `cells`: account + 1, 0 is free; in `accounts`: the probe's own, see id_of_path()
};
static_assert(sizeof(cell) == 64 && offsetof(cell, peak_bytes) == 48 && offsetof(cell, id) == 60);

// What an account's cell says of the path in its key.
inline std::uint32_t id_of_path(std::uint64_t path) {
  return static_cast<std::uint32_t>(path >> 32);
}

// What an account stands for. Account 0 takes what has no place of its own (loss::accounts_full).
struct account_key {
  std::uint32_t node;    // index into nodes: the innermost frame; 0 is "no stack"
  std::uint32_t scope;   // index into scopes; 0 is the whole process
  std::uint32_t shared;  // cell + 1 that folds go to; 0 is none yet
  std::uint32_t owner;   // writer + 1 that books into accounts[] itself, in owner_writer; and flags
  std::uint64_t path;    // the probe's own: a hash of the stack
};
static_assert(sizeof(account_key) == 24);
inline constexpr std::uint32_t owner_in_scope = std::uint32_t{1} << 31;  // scope is not 0
inline constexpr std::uint32_t owner_changed = std::uint32_t{1} << 30;   // accounts[] holds what others booked, too
inline constexpr std::uint32_t owner_writer = owner_changed - 1;

// A kind of scope: all scopes of one name below one parent kind. Element 0 is the whole process.
enum class resource : std::uint32_t { live_bytes, allocated_bytes, allocations, count };
inline constexpr std::size_t resource_count = static_cast<std::size_t>(resource::count);
struct alignas(64) scope {
  std::uint32_t name;    // offset into strings; NUL terminated
  std::uint32_t parent;  // index into scopes, less than the own
  std::uint64_t opened;
  std::uint64_t closed;
  std::uint64_t refusals;              // allocations that a budget of such a scope refused
  std::uint64_t overdrafts;            // and that it let through: the work was asked to stop, or must not fail
  std::int64_t peak_bytes;             // highest of any one scope of this kind, with what is below it
  std::int64_t limit[resource_count];  // of the last one opened; negative: none
  std::uint64_t reserved[7];
};
static_assert(sizeof(scope) == 128);

// What one writer freed in scopes of kind `by` that scopes of kind `owner` had allocated, where it was not one and the
// same scope. Element 0 is what found no room.
struct alignas(64) freer {
  std::uint32_t owner;  // indices into scopes
  std::uint32_t by;
  std::uint32_t writer;  // + 1
  std::uint32_t reserved0;
  std::uint64_t frees;
  std::uint64_t freed_bytes;
  std::uint64_t late_frees;  // and of these, after the scope that allocated was closed
  std::uint64_t late_bytes;
  std::uint64_t reserved[2];
};
static_assert(sizeof(freer) == 64);

// A stack is a path of nodes to the root, node 0. Parents come before their children. A node is the place of a return
// address below its parent; place 0 is none. Nodes of one place and parent may be several, and mean the same. `where`
// is the return address in its low 48 bits, the module (index + 1) that held it in bits 48..62, and bit 63 once that
// module was unloaded.
struct node {
  std::uint32_t place;
  std::uint32_t parent;
};
static_assert(sizeof(node) == 8);
struct place {
  std::uint64_t where;
};
static_assert(sizeof(place) == 8);
inline constexpr std::uint64_t place_address_mask = (std::uint64_t{1} << 48) - 1;
inline constexpr unsigned place_module_shift = 48;
inline constexpr std::uint64_t place_module_mask = 0x7fff;
inline constexpr std::uint64_t place_unloaded = std::uint64_t{1} << 63;
// Set on the address bits of a frame interrupted by a signal: the address is exact, not a return address. Bit 47 is
// never set in a user-space address.
inline constexpr std::uint64_t place_exact_address = std::uint64_t{1} << 47;

enum class thread_state : std::uint32_t { unused, running, ended };

struct alignas(64) thread {
  std::uint32_t tid;
  thread_state state;
  char name[16];
  std::uint64_t start_ns;  // CLOCK_MONOTONIC
  std::uint64_t end_ns;
  std::uint64_t reserved[3];
  std::uint64_t allocations;  // the four totals: the same events as in the cells, one store later
  std::uint64_t allocated_bytes;
  std::uint64_t frees;
  std::uint64_t freed_bytes;
  std::uint64_t reserved2[4];
};
static_assert(sizeof(thread) == 128 && offsetof(thread, allocations) == 64);

// Bucket 0 counts size 0; bucket b counts sizes from 2^(b-1) to 2^b - 1.
inline constexpr std::size_t size_buckets = 64;
struct writer {
  std::uint64_t sizes[size_buckets];
};
static_assert(sizeof(writer) == 512);

// Who a writer is, and the cells that only it writes. A writer outlives its thread and serves a later one.
struct writer_book {
  std::uint32_t thread;  // record + 1 of the only thread that it has served, or several_threads
  std::uint32_t reserved0;
  std::uint64_t own_cells;  // the first of them in the low half, how many in the high; one store
};
static_assert(sizeof(writer_book) == 16);
inline constexpr std::uint32_t several_threads = UINT32_MAX;

// A named moment. Written once, `kind` last (release; the reader copies and takes what has a kind). What the books were
// at a snapshot is in `snapshots`, as wire/snapshot.hpp says.
enum class marker_kind : std::uint32_t { none, mark, snapshot };
inline constexpr std::size_t marker_name_capacity = 80;
struct alignas(64) marker {
  marker_kind kind;
  std::uint32_t reserved0;
  std::uint64_t monotonic_ns;
  std::int64_t live_bytes;
  std::int64_t live_blocks;
  std::uint64_t snapshot_offset;    // into snapshots
  std::uint64_t snapshot_bytes;     // 0: a mark
  char name[marker_name_capacity];  // NUL terminated; empty: nobody named it
};
static_assert(sizeof(marker) == 128 && offsetof(marker, name) == 48);

// How many of each there were when some code was first seen: none of these is in that code.
struct counts_before {
  std::uint32_t places, nodes, accounts;
};

inline constexpr std::size_t build_id_capacity = 32;
// One that was unloaded may come back, to the same addresses, and then is the same one.
struct module {
  std::uint64_t start;        // first mapped address
  std::uint64_t end;          // one past the last
  std::uint64_t bias;         // address in the process minus address in the ELF file
  std::uint64_t loaded_ns;    // CLOCK_MONOTONIC, when the probe first saw it
  std::uint64_t unloaded_ns;  // 0 while it is there
  std::uint32_t path;         // offset into strings; NUL terminated
  std::uint32_t build_id_bytes;
  std::uint8_t build_id[build_id_capacity];
  std::uint32_t is_probe;  // 1: the probe itself; its frames are not the program's
  counts_before before;    // the probe's own
  std::uint64_t reserved[4];
};
static_assert(sizeof(module) == 128);

// What a pool counts itself, with relaxed stores and adds: the layout of heapledger_pool_counters.
struct pool_counters {
  std::uint64_t size_bytes;
  std::uint64_t chunk_bytes;
  std::uint64_t allocations;
  std::uint64_t frees;
  std::uint64_t allocated_bytes;  // as asked for
  std::uint64_t page_bytes;
  std::uint64_t pages;
  std::uint64_t arenas;
  std::uint64_t sizes[32];  // by bit width
  std::uint64_t peak_page_bytes;
  std::uint64_t moved;  // chunks that were ever given another place by the leak watch
  std::uint64_t reserved[6];
};
static_assert(sizeof(pool_counters) == 384);

// All pools of one name and chunk size. Element 0 is unused. `ended` adds up those that are gone.
struct alignas(64) pool_kind {
  std::uint32_t name;  // offset into strings; NUL terminated
  std::uint32_t reserved0;
  std::uint64_t chunk_bytes;
  std::uint64_t opened;
  std::uint64_t closed;
  std::uint64_t reserved[4];
  pool_counters ended;
};
static_assert(sizeof(pool_kind) == 448);

struct alignas(64) pool {
  std::uint32_t kind;  // 0: no pool, or no longer
  std::uint32_t reserved0;
  std::uint64_t reserved[7];
  pool_counters counters;
};
static_assert(sizeof(pool) == 448);

// What one stack took from pools of one kind that tell who allocates. Element 0 takes what has no place of its own.
struct alignas(64) pool_site {
  std::uint32_t kind;
  std::uint32_t node;
  std::uint64_t path;  // the probe's own
  std::uint64_t allocations;
  std::uint64_t allocated_bytes;
  std::uint64_t frees;
  std::uint64_t freed_bytes;
  std::uint32_t mark;  // written by the tool: the leak watch's suspect + 1, or 0
  std::uint32_t reserved0;
  std::uint64_t reserved;
};
static_assert(sizeof(pool_site) == 64);

// What the program maps itself: not its allocator, the loader or the C library. `shared` is memory without a file.
enum class mapping_kind : std::uint32_t { anonymous, file, shared, count };
inline constexpr std::size_t mapping_kind_count = static_cast<std::size_t>(mapping_kind::count);

// What one stack mapped, of one kind. Element 0 is unused.
struct alignas(64) mapping_site {
  mapping_kind kind;
  std::uint32_t node;
  std::uint64_t path;  // the probe's own
  std::uint64_t calls;
  std::uint64_t mapped_bytes;
  std::uint64_t unmapped_bytes;
  std::uint64_t reserved[3];
};
static_assert(sizeof(mapping_site) == 64);

// A range of addresses that is mapped now. Element 0 is unused; `bytes` is 0 in one that is free.
struct mapping {
  std::uint64_t start;
  std::uint64_t bytes;
  std::uint32_t site;
  std::uint32_t lower, higher;  // the probe's own: a tree by address
  std::uint32_t reserved0;
};
static_assert(sizeof(mapping) == 32);

enum class error_kind : std::uint32_t { none, double_free, mismatch, overflow };
// Functions whose blocks belong to each other: malloc, realloc and free; new and delete; new[] and delete[].
enum class call_family : std::uint32_t { unknown, malloc, scalar, array, count };
// Errors of one kind with blocks of one stack that were freed by one stack. Element 0 is unused.
struct error {
  error_kind kind;
  std::uint32_t account;         // that allocated the first of the blocks; it may have come to mean another stack
  std::uint32_t allocated_node;  // of which it was
  std::uint32_t node;            // that freed them, and so the error was found; 0: not known
  std::uint64_t path;            // the probe's own
  std::uint64_t count;
  call_family allocated_by, freed_by;  // of a mismatch
};
static_assert(sizeof(error) == 40);

// Every loss has a counter here and a line in the report.
enum class loss : std::uint32_t {
  nodes_full,         // a stack was cut at its innermost known frame's parent: the tree was full
  accounts_full,      // booked to account 0
  cells_full,         // an event could not be booked at all
  threads_full,       // events of threads that share record 0
  modules_full,       // frames without a module
  stack_cut_depth,    // stacks longer than --depth
  stack_cut_no_rule,  // stacks that end at code without unwind information
  stack_cut_bounds,   // stacks that end where memory could not be a stack
  large_full,         // a large block that the side table could not take
  unbooked,           // allocations made while the probe could not book
  foreign_frees,      // frees of blocks that the probe never saw allocated
  inherited_frees,    // frees, after fork, of what the parent had allocated
  overflow_size,      // blocks whose overwritten tag hid their size from the books
  errors_full,        // errors (double free, mismatch, overflow) beyond the table
  segment_full,       // the file system had no room to grow the segment
  scopes_full,        // scopes that could not be made; what they would be charged goes to their parents
  markers_full,       // marks and snapshots that the table could not take
  snapshots_full,     // snapshots that had no room, and were kept as marks
  pools_full,         // pools, or stacks in them, that could not be shown
  freers_full,        // frees in other scopes whose pair of scopes had no room: they are one pair
  lives_unknown,      // frees of blocks whose birth is not known, where lives are timed
  mappings_full,      // ranges that the program mapped, and that the table could not take
  count
};
inline constexpr std::size_t loss_count = static_cast<std::size_t>(loss::count);
inline constexpr const char* loss_names[loss_count] = {
    "nodes_full",        "accounts_full",    "cells_full",    "threads_full",  "modules_full",  "stack_cut_depth",
    "stack_cut_no_rule", "stack_cut_bounds", "large_full",    "unbooked",      "foreign_frees", "inherited_frees",
    "overflow_size",     "errors_full",      "segment_full",  "scopes_full",   "markers_full",  "snapshots_full",
    "pools_full",        "freers_full",      "lives_unknown", "mappings_full",
};

enum class fold_state : std::uint32_t { idle, valid };
struct alignas(64) fold_journal {
  std::uint32_t lock;
  fold_state state;
  std::uint32_t source;       // cell that is being emptied
  std::uint32_t destination;  // cell that receives
  cell after;                 // what the destination holds when the fold is done
  std::uint64_t reserved[4];
};
static_assert(sizeof(fold_journal) == 192);
inline constexpr std::size_t fold_stripes = 32;

// jit: dwarf, and by frame pointers through code that has no unwind tables.
enum class stacks_mode : std::uint32_t { dwarf, frame_pointer, off, jit };
// exited: destructors ran; a kill leaves `running`. detached: nothing is booked any more, and the process goes on.
enum class lifecycle : std::uint32_t { running = 1, exited = 2, detached = 3 };

struct check_result {  // self-check mode: every stack walked a second time by an independent unwinder
  std::uint64_t stacks;
  std::uint64_t differences;
};

inline constexpr std::uint32_t exit_status_known = 0x100;

// A program that the process, or a child of it before its exec, executed, and that keeps no books. `ready` is written
// last (release).
enum class uncounted_reason : std::uint32_t {
  none,
  static_program,
  sanitizer,
  other_libc,
  other_machine,
  privileged,    // the loader ignores LD_PRELOAD
  out_of_reach,  // the probe's file is not there, in another root or for another user
  count
};
struct uncounted_program {
  uncounted_reason reason;
  std::uint32_t ready;
  std::uint64_t times;
  char path[240];  // as executed; its end where it is longer. NUL terminated
};
static_assert(sizeof(uncounted_program) == 256);
inline constexpr std::size_t uncounted_capacity = 16;

struct segment_header {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t header_size;  // header_bytes
  std::uint64_t file_bytes;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::uint64_t start_realtime_ns;
  std::uint64_t start_monotonic_ns;
  std::uint64_t end_monotonic_ns;  // when destructors ran, or the probe was detached; 0 before
  stacks_mode stacks;
  std::uint32_t depth_limit;  // 0 is none
  lifecycle state;
  std::uint32_t forked;   // 1: books began at a fork, without exec
  std::uint32_t exe;      // offsets into strings
  std::uint32_t command;  // NUL-separated arguments
  std::uint32_t command_bytes;
  std::uint32_t pid_namespace;  // in which `pid` is meant: inode of /proc/self/ns/pid; 0: unknown

  region nodes, places, accounts, account_keys, cells, threads, writers, modules, strings, errors, scopes, markers,
      snapshots;
  region pool_kinds, pools, pool_sites;
  region watch_marks, watch_suspects, watch_slots, watch_arms;  // see watch.hpp; their counts are in it too
  region freers;
  region writer_books;                         // as many as writers
  region writer_lifetimes, account_lifetimes;  // as many as writers and accounts; no capacity: lives were not timed
  region mapping_sites, mappings;

  // Counts that grow; the first element of nodes, places, accounts, threads and others is reserved (see above).
  alignas(64) std::uint32_t node_count;
  std::uint32_t place_count;
  std::uint32_t account_count;
  std::uint32_t cell_count;  // cells handed out, in use or free
  std::uint32_t thread_count;
  std::uint32_t writer_count;
  std::uint32_t module_count;
  std::uint32_t error_count;
  std::uint32_t string_bytes;
  std::uint32_t scope_count;
  std::uint32_t marker_count;
  std::uint32_t snapshot_bytes;
  std::uint32_t pool_kind_count;
  std::uint32_t pool_count;
  std::uint32_t pool_site_count;
  std::uint32_t freer_count;
  std::uint32_t mapping_site_count;
  std::uint32_t mapping_count;  // elements handed out, in use or free

  // The peak. While `threaded` is 0, `live_bytes` and `peak_bytes` lag behind: the truth is the sum over cells.
  alignas(64) std::uint32_t peak_epoch;
  std::uint32_t threaded;         // 1 once a second thread allocated
  std::int64_t peak_bytes;        // highest live bytes seen so far
  std::int64_t live_bytes;        // published by threads, each at most hold_back_bytes behind
  std::uint64_t hold_back_bytes;  // per thread
  std::uint64_t peak_monotonic_ns;
  std::uint32_t peak_threads;  // most threads at once since the peak: hold_back_bytes times this bounds its error
  std::uint32_t exit_status;   // of a process that called _exit: exit_status_known and the status; 0: not known

  alignas(64) std::uint64_t losses[loss_count];
  std::uint64_t inherited_freed_bytes;
  std::uint64_t large_blocks;    // live blocks in the side table: they carry no tag
  std::uint64_t private_bytes;   // the probe's own anonymous memory
  std::uint64_t tag_bytes_each;  // 8, or 16 where lives are timed
  check_result check;

  fold_journal folds[fold_stripes];

  watch_request watch_asked;
  watch_answer watch;

  // 0: the books began with the process. Else its age when they began, or when its parent's did: blocks from before are
  // not in them, and their frees are loss::foreign_frees.
  std::uint64_t attached_after_ns;

  std::uint64_t mapped_bytes[mapping_kind_count];  // now
  std::uint64_t mapped_peak_bytes;                 // highest sum of them

  std::uint64_t uncounted_others;  // times that the table had no room
  uncounted_program uncounted[uncounted_capacity];
};
static_assert(sizeof(segment_header) <= header_bytes);

}  // namespace heapledger::wire

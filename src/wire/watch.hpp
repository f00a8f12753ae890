// The leak watch's part of the segment: what the tool asks, and what the probe answers. docs/leak-watch-internals.md
// says how the two work together.
//
// Every word has one writer, said beside it. The tool writes its words with pwrite into the file, aligned, never
// through a mapping; each change becomes valid with the write of `watch_request::sequence`, which comes last. The probe
// writes its words under a lock of its own, `state` or `serial` last and with release; it never waits for the tool.
#pragma once

#include <cstddef>
#include <cstdint>

namespace heapledger::wire {

// A watched block begins a slot: 64 KiB of addresses whose pages are touched for no other block's sake. A larger block
// takes as many slots as it needs, in a row; the first one's record speaks for all.
inline constexpr std::uint64_t watch_slot_bytes = 64 * 1024;

// In the header. Written by the tool. All zero before the first tool came.
struct alignas(64) watch_request {
  std::uint32_t sequence;         // counts changes of anything that the tool writes; written last
  std::uint32_t on;               // 1: place blocks of suspects in slots; 0: stop that, and arming
  std::uint64_t lease_ns;         // CLOCK_MONOTONIC: from then on as if `on` were 0. A tool that dies stops the watch
  std::uint64_t most_bytes;       // in slots at one time, requested sizes
  std::uint64_t most_each_bytes;  // larger blocks are not placed
  std::uint32_t most_blocks;      // in slots at one time
  std::uint32_t mark_count;       // watch_marks below this were written by the tool
  std::uint32_t suspect_count;    // watch_suspects below this likewise
  std::uint32_t arm_batch;        // serial of what is in watch_arms: a new one asks for the batch
  std::uint32_t arm_count;        // how many of them
  std::uint32_t mark_sequence;    // counts changes of marks: threads then forget which accounts are none
  std::uint32_t wish;         // `heapledger start` and `stop`: odd, watch from now on; even, stop. The probe ignores it
  std::uint32_t wish_heeded;  // the wish that the watching tool has seen
};
static_assert(sizeof(watch_request) == 64);

enum class watch_state : std::uint32_t { never, watching, stopped, impossible };

// Why there is no watch, or why it is less than asked. Each has words in the report.
enum class watch_obstacle : std::uint32_t {
  none,
  no_memfd,         // memfd_create failed
  no_address_room,  // mmap failed, or RLIMIT_AS or RLIMIT_FSIZE leaves no room
  no_arming,        // MADV_DONTNEED does not make a page absent, or the page did not keep what it held
  no_fork_handler,  // pthread_atfork failed: a fork could share memory
  count
};

// In the header. Written by the probe.
struct alignas(64) watch_answer {
  watch_state state;
  watch_obstacle obstacle;
  std::uint32_t seen_sequence;  // of the request that is in force
  std::int32_t error;           // errno of the obstacle, or 0
  std::uint64_t base;           // address of slot 0; slot i is at base + i * watch_slot_bytes
  std::uint32_t slot_count;     // slots that were ever in use: records below this mean something
  std::uint32_t slot_limit;     // and can be
  std::uint32_t arm_batch;      // the batch being worked on
  std::uint32_t arm_done;       // how many of it are done; the tool makes a new batch when all are
  std::uint32_t live_blocks;    // in slots, and watched
  std::uint32_t apart_blocks;   // in slots, and not watched any more
  std::uint64_t live_bytes;     // watched
  std::uint64_t placed;         // blocks ever placed
  std::uint64_t freed;          // of them
  std::uint64_t refused_most;   // chosen, not placed: most_blocks, most_bytes, most_each_bytes, watch_suspect::most
  std::uint64_t refused_room;   // chosen, not placed: no slot or no memory
  std::uint64_t forks;          // that found watched blocks
  std::uint64_t set_apart;      // blocks ever taken out of the watch by a fork
  std::uint64_t locked_arms;    // arming that mlock made harder: the pages stay in memory
  std::uint64_t failed_arms;    // arming that the kernel refused
};
static_assert(sizeof(watch_answer) == 128);

// watch_marks[account]: suspect + 1, or 0. Written by the tool; u32.

// With this bit, an account in the records below is a pool site, by its index: chunks that a stack takes from pools are
// watched as blocks from malloc are. Its mark is in pool_site::mark.
inline constexpr std::uint32_t watch_pool_site = std::uint32_t{1} << 31;

// One suspect account. The tool writes the first 20 bytes, zeroes the rest once when it makes the entry, and never uses
// an entry for another account.
inline constexpr std::size_t watch_age_buckets = 24;
enum class watch_verdict : std::uint32_t { none, suspect, retention, leak };
struct alignas(64) watch_suspect {
  std::uint32_t account;
  std::uint32_t chance;   // each allocation is chosen with probability (chance + 1) / 2^32
  std::uint32_t most;     // blocks in slots at one time; 0: none are placed, only counted
  watch_verdict verdict;  // what the tool says of it at present, for other tools
  // The chance of an allocation at any time: `chance`, times the share of the time in which the account has its mark.
  // For the slots of what is placed; 1 over it is a block's weight.
  std::uint32_t inclusion;
  std::uint32_t reserved[3];

  // Written by the probe, since the entry was made. An allocation is chosen when chance said so, placed when there was
  // room.
  std::uint64_t chosen;
  std::uint64_t placed;
  std::uint64_t placed_bytes;
  std::uint64_t freed;  // of the placed ones
  std::uint64_t freed_bytes;
  std::uint32_t live;  // in slots
  std::uint32_t reserved2;
  std::uint32_t freed_ages[watch_age_buckets];  // bucket b: age below 2^b ms, and not below 2^(b-1); the last: older

  // Written by the tool, before `verdict`.
  std::uint64_t lost_bytes;           // estimated; of retention and suspects: grown
  std::uint64_t lost_bytes_per_hour;  // likewise
};
static_assert(sizeof(watch_suspect) == 192 && offsetof(watch_suspect, freed_ages) == 80);

// unused: never held a block. rest: the second and further slots of a larger block. apart: the block lives on where it
// is, but can be asked no more, since a fork.
enum class watch_slot_state : std::uint32_t { unused, live, apart, freed, rest };

// Written by the probe. A slot is used again as late as possible, so that the tool finds most of the freed ones.
struct alignas(64) watch_slot {
  watch_slot_state state;
  std::uint32_t serial;  // counts the blocks that this slot held; changes before anything else does
  std::uint32_t account;
  std::uint32_t suspect;
  std::uint64_t address;   // of the block: at or after the slot's begin
  std::uint64_t bytes;     // requested
  std::uint64_t born_ns;   // CLOCK_MONOTONIC
  std::uint64_t ended_ns;  // freed or set apart
  std::uint64_t armed_ns;  // last armed; 0: not since it was born
  std::uint32_t chance;    // with which it was chosen: watch_suspect::inclusion
  std::uint32_t tid;
};
static_assert(sizeof(watch_slot) == 64);

// Written by the tool: arm this slot, if it still holds that block.
struct watch_arm {
  std::uint32_t slot;
  std::uint32_t serial;
};
static_assert(sizeof(watch_arm) == 8);

inline constexpr std::uint64_t watch_suspect_capacity = 1u << 14;
inline constexpr std::uint64_t watch_slot_capacity = 1u << 18;
inline constexpr std::uint64_t watch_arm_capacity = 1u << 16;

}  // namespace heapledger::wire

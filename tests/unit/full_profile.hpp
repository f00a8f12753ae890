// A small profile in which every field of the model holds something else than its default. The golden files in
// tests/unit/data were made from it: a new field gets a value here and in data/profile_v1.txt.
#pragma once

#include "tool/profile/profile.hpp"

namespace heapledger {

inline profile full_profile() {
  profile p;
  p.process = {.pid = 4711,
               .parent_pid = 4710,
               .exe = "/usr/bin/caf\xc3\xa9",
               .command = {"caf\xc3\xa9", "", "--size=\xff"},
               .start_realtime_ns = 1'790'000'000'123'456'789,
               .duration_ns = 2'500'000'000,
               .ended = ending::signaled,
               .exit_code = 0,
               .signal = 9,
               .forked = true,
               .stacks = "dwarf",
               .depth_limit = 64,
               .host = "box",
               .lives_timed = true};
  p.peak = {.error_bytes = 4096, .time_ns = 1'250'000'000};
  p.strings = {"main", "main.cpp", "std::vector<int>::push_back", "vector.h", ""};
  p.frames = {{0, 1, 12}, {2, 3, 101}, {4, none, 0}};
  p.modules = {{.start = 0x555555554000,
                .end = 0x555555560000,
                .bias = 0x555555554000,
                .path = "/usr/bin/caf\xc3\xa9",
                .build_id = "00ff10",
                .loaded_ns = 0,
                .unloaded_ns = {},
                .symbol_advice = "no symbols: build it with -g"},
               {.start = 0x7ffff7000000,
                .end = 0x7ffff7200000,
                .bias = 0x7ffff7000000,
                .path = "/usr/lib/plugin.so",
                .build_id = "",
                .loaded_ns = 100,
                .unloaded_ns = 2'000'000'000,
                .symbol_advice = {}}};
  p.locations = {{0x1139, 0, {1, 0}}, {0x1200, 0, {0}}, {0x7fffdeadbeef, none, {}}, {0x10, 1, {2}, true}};
  p.nodes = {{0, none}, {0, 1}, {1, 0}, {1, 2}, {3, 3}};
  p.stacks = {
      {0, 0, {}, {1, 24, 0, 0, 0, 0, 24}},
      {1, 2, {}, {1000, 64000, 1000, 64000, 900, 10, 0}},
      {3, 4, {"request", "query"}, {5, 1ULL << 32, 2, 1ULL << 31, 1, 1, 1LL << 31}},
      {4, 2, {"request"}, {1, 8, 3, 4104, 0, 0, -4096}},
  };
  p.scopes = {{.path = {"request"},
               .opened = 12,
               .closed = 11,
               .refusals = 3,
               .overdrafts = 1,
               .peak_bytes = 1 << 20,
               .live_bytes_limit = 1 << 20,
               .allocated_bytes_limit = 1LL << 40,
               .allocations_limit = 0},
              {.path = {"request", "index"}, .opened = 1}};
  p.pools = {{.name = "requests",
              .chunk_bytes = 48,
              .opened = 3,
              .closed = 2,
              .allocations = 1100,
              .frees = 90,
              .allocated_bytes = 44000,
              .pages = 2,
              .page_bytes = 131072,
              .peak_page_bytes = 1 << 20,
              .arenas = 1,
              .sizes = {{32, 63, 1100}},
              .sites = {{2, 1000, 40000, 0, 0}, {4, 100, 4000, 90, 3600}}},
             {.name = "", .chunk_bytes = 16, .opened = 1}};
  p.mapped = {.peak_bytes = 1ULL << 36,
              .seen_ns = 2'400'000'000,
              .sites = {{2, "anonymous", 3, 1ULL << 36, 1ULL << 35, 2, 8192, 1 << 20}, {4, "file", 1, 4096, 4096, 0}}};
  p.freers = {{.owner = {"request"}, .by = {}, .frees = 3, .freed_bytes = 300, .late_frees = 1, .late_bytes = 100},
              {.owner = {"request", "index"}, .by = {"request"}, .frees = 1ULL << 40}};
  p.threads = {{4711, "caf\xc3\xa9", 0, {}, 1005, 1000, 4295031320, 2147547648},
               {4712, "worker", 1'000'000, 2'000'000, 2, 5, 32, 4104}};
  p.stacks[1].count.life = {.ended = 1000, .lived = {1ULL << 40, 999'999'999}, .unended = 0, .born = {}};
  p.stacks[2].count.life = {.ended = 2, .lived = {0, 250}, .unended = 3, .born = {2, 500'000'000}};
  p.lifetimes = {{100, 199, 2, 1ULL << 31}, {5'000'000'000'000'000'000, UINT64_MAX, 1000, 64000}};
  p.stacks[0].thread = 0;
  p.stacks[3].thread = 1;
  p.thread_shares = {{2, 0, 3, 1 << 20, 1}, {2, 1, 1, 1ULL << 31, 0}};
  p.sizes = {{0, 0, 1}, {16, 31, 1001}, {1ULL << 63, UINT64_MAX, 1}};
  p.timeline = {{0, 0, 0, 0, 1 << 20}, {100'000'000, 4096, 3, 700, 3 << 20}, {200'000'000, -8, -1, 1007, 2 << 20}};
  p.scope_timeline = {{0, 0, 512}, {0, 100'000'000, -8}};
  p.stack_timeline = {{0, 0, 512}, {0, 100'000'000, -8}, {2, 100'000'000, 4096}};
  p.memory = memory_map{2'500'000'000, 36, 1, 2, 3, 4, 5, 6, 8, 7};
  p.memory_peak = memory_map{1'250'000'000, 10, 20, 2, 3, -25, 5, 6, -1};
  p.markers = {
      {.name = "warm", .time_ns = 50'000'000, .live_bytes = 2048, .live_blocks = 2, .snapshot = 0},
      {.name = "caf\xc3\xa9 \xff", .time_ns = 150'000'000, .live_bytes = -4, .live_blocks = -1, .snapshot = {}},
      {.name = "warm", .time_ns = 150'000'000, .live_bytes = 4096, .live_blocks = 3, .snapshot = 1}};
  p.snapshots = {{{{0, {1, 24, 0, 0, 0, 0, 24}}, {2, {3, 300, 1, 100, 1, 1, 200}}}},
                 {{{2, {1, 1ULL << 31, 1, 200, 0, 0, -200}}, {3, {1, 8, 0, 0, 0, 0, -4096}}}}};
  p.errors = {{"double-free", 1, 2, 2}, {"mismatch", 1, 1, 1, "new[]", "free"}, {"overflow", 3, 1}};
  p.leaks = leak_info{.since_realtime_ns = 1'790'000'000'500'000'000,
                      .duration_ns = 2'000'000'000,
                      .watched = 35,
                      .acquitted = 2,
                      .taken_back = 1,
                      .entries = {{.stack = 3,
                                   .verdict = "leak",
                                   .witnesses = {"stale", "unreachable"},
                                   .bytes = 4096,
                                   .bytes_low = 3000,
                                   .bytes_high = 5000,
                                   .bytes_per_hour = 7'372'800,
                                   .bytes_per_hour_low = 5'400'000,
                                   .bytes_per_hour_high = 9'000'000,
                                   .blocks = 64,
                                   .oldest_age_ns = 1'900'000'000,
                                   .sampled = 30,
                                   .untouched = 29,
                                   .least_bytes = 16,
                                   .most_bytes = 256,
                                   .growth_stopped = true}},
                      .losses = {{"refused_most", 3}},
                      .reachability = reachability_info{30, 29, 1'500'000, 1 << 20, "none"},
                      .obstacle = "no_memfd"};
  p.uncounted = {{"/usr/bin/tool", "static", 2}, {"", "", 1}};
  p.profiler = {.segment_bytes = 1 << 20,
                .private_bytes = 1 << 16,
                .tag_bytes = 64,
                .accounts = 4,
                .nodes = 5,
                .inherited_freed_bytes = 48,
                .checked_stacks = 1007,
                .checked_differences = 1,
                .losses = {{"foreign_frees", 2}, {"stack_cut_depth", 7}}};
  p.symbolized = true;
  return p;
}

}  // namespace heapledger

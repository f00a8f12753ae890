// A profile whose every name tries to become something else: markup, an attribute, a new line, an escape.
#pragma once

#include <string>

#include "report_sample.hpp"

namespace heapledger {

inline std::string hostile_name(const std::string& what) {
  return what + "</script><script>document.title='" + what + "'</script><img src=x onerror=\"document.title='" + what +
         "'\">\"'`&lt;\n\r\x1b[31m\xff\xc3\x28\xe2\x80\xae;";
}

inline profile hostile_profile() {
  const sample::sample_frame frame{hostile_name("function"), hostile_name("file"), 7, hostile_name("/module")};
  const sample::sample_frame nameless{"", "", 0, hostile_name("/library")};
  sample::profile_builder builder;
  builder.stack({frame, nameless, {"main", "main.cpp", 1}}, sample::booked(3, 3000, 1, 1000, 3000));
  builder.stack({nameless, {"main", "main.cpp", 1}}, sample::booked(1, 500, 1, 500, 500));
  builder.stack({frame, {"main", "main.cpp", 2}}, sample::booked(2, 64, 0, 0, 64));
  profile& p = builder.edit();
  p.process.exe = hostile_name("/exe");
  p.process.command = {hostile_name("argument"), hostile_name("--option=")};
  p.process.host = hostile_name("host");
  p.process.ended = ending::exited;
  p.process.duration_ns = 1'000'000'000;
  p.stacks[2].scope = {hostile_name("scope")};
  p.scopes = {{.path = {hostile_name("scope")}, .opened = 1}};
  p.pools = {{.name = hostile_name("pool"),
              .chunk_bytes = 48,
              .opened = 1,
              .allocations = 1100,
              .frees = 90,
              .allocated_bytes = 44000,
              .page_bytes = 131072,
              .peak_page_bytes = 131072,
              .sites = {{p.stacks[0].node, 1000, 40000, 0, 0}}}};
  p.mapped.emplace();
  p.mapped->sites = {{p.stacks[0].node, hostile_name("kind"), 1, 4096, 0, 1, 4096, 4096}};
  p.leaks.emplace();
  p.leaks->watched = 30;
  p.leaks->entries.resize(3);
  p.leaks->entries[0] = {
      .stack = p.stacks[0].id, .verdict = "leak", .witnesses = {hostile_name("witness")}, .blocks = 1234};
  p.leaks->entries[1] = {.stack = 4711, .verdict = "suspect", .witnesses = {}, .blocks = 5};
  p.leaks->entries[2] = {.verdict = "leak", .witnesses = {}, .blocks = 7, .pool = 0, .node = p.stacks[0].node};
  p.threads.resize(1);
  p.threads[0].name = hostile_name("thread");
  p.errors = {{.kind = hostile_name("kind"), .stack = 1, .count = 2}};
  p.profiler.losses = {{hostile_name("loss"), 3}};
  for (auto& module : p.modules) module.symbol_advice = hostile_name("advice");
  p.timeline = {{0, 0, 0, 0, 4096}, {500'000'000, 4000, 3, 3, 8192}, {1'000'000'000, 2064, 4, 6, 8192}};
  p.peak.error_bytes = 1024;  // the timeline saw more at once than the stacks add up to
  p.sizes = {{0, 1023, 5}, {1024, 2047, 1}};
  return builder.build();
}

}  // namespace heapledger

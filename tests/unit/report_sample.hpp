// Profiles made by hand, for tests of what reads them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::sample {

struct sample_frame {
  std::string function = {};  // empty: unknown
  std::string file = {};
  std::uint32_t line = 0;
  std::string module = "/usr/bin/program";
  std::vector<sample_frame> inlined = {};  // into this one, innermost first
};

class profile_builder {
 public:
  profile_builder() {
    built_.nodes.push_back({});
    built_.symbolized = true;
  }

  profile& edit() { return built_; }
  profile build() const { return built_; }

  // Frames from the allocation outward. Returns the stack's index.
  std::uint32_t stack(const std::vector<sample_frame>& frames, const counters& count) {
    std::uint32_t node = 0;
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) node = child(node, *frame);
    const auto index = static_cast<std::uint32_t>(built_.stacks.size());
    built_.stacks.push_back({index + 1, node, {}, count});
    return index;
  }

 private:
  std::uint32_t string(const std::string& text) {
    if (text.empty()) return none;
    const auto [found, added] = strings_.try_emplace(text, static_cast<std::uint32_t>(built_.strings.size()));
    if (added) built_.strings.push_back(text);
    return found->second;
  }

  std::uint32_t module(const std::string& path) {
    if (path.empty()) return none;
    const auto [found, added] = modules_.try_emplace(path, static_cast<std::uint32_t>(built_.modules.size()));
    if (added) {
      module_info info;
      info.path = path;
      info.start = 0x10000000U * (found->second + 1U);
      info.end = info.start + 0x100000;
      info.bias = info.start;
      info.build_id = "0123abcd";
      built_.modules.push_back(info);
    }
    return found->second;
  }

  std::uint32_t symbol(const sample_frame& frame) {
    const frame_info info{string(frame.function), string(frame.file), frame.line};
    const auto [found, added] = symbols_.try_emplace(info, static_cast<std::uint32_t>(built_.frames.size()));
    if (added) built_.frames.push_back(info);
    return found->second;
  }

  std::uint32_t child(std::uint32_t parent, const sample_frame& frame) {
    location place;
    place.module = module(frame.module);
    for (const auto& inlined : frame.inlined) place.symbols.push_back(symbol(inlined));
    if (!frame.function.empty()) place.symbols.push_back(symbol(frame));
    const auto key = std::make_tuple(place.module, place.symbols);
    const auto [where, new_place] = locations_.try_emplace(key, static_cast<std::uint32_t>(built_.locations.size()));
    if (new_place) {
      place.address = 0x1000 + 0x10 * where->second;
      built_.locations.push_back(place);
    }
    const auto [node, added] =
        nodes_.try_emplace(std::pair(parent, where->second), static_cast<std::uint32_t>(built_.nodes.size()));
    if (added) built_.nodes.push_back({parent, where->second});
    return node->second;
  }

  profile built_;
  std::map<std::string, std::uint32_t> strings_;
  std::map<std::string, std::uint32_t> modules_;
  std::map<frame_info, std::uint32_t> symbols_;
  std::map<std::tuple<std::uint32_t, std::vector<std::uint32_t>>, std::uint32_t> locations_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> nodes_;
};

inline counters booked(std::uint64_t allocations, std::uint64_t bytes, std::uint64_t frees, std::uint64_t freed_bytes,
                       std::int64_t peak_bytes, std::uint64_t temporaries = 0) {
  counters count;
  count.allocations = allocations;
  count.allocated_bytes = bytes;
  count.frees = frees;
  count.freed_bytes = freed_bytes;
  count.peak_bytes = peak_bytes;
  count.temporaries = temporaries;
  return count;
}

// A small server that was killed: allocator frames, templates, inlined frames, recursion, threads, errors, losses.
inline profile killed_server() {
  profile_builder builder;
  const std::string libc = "/lib/x86_64-linux-gnu/libc.so.6";
  const std::string cxx = "/lib/x86_64-linux-gnu/libstdc++.so.6";
  const std::string main_file = "/home/someone/server/src/main.cpp";
  const std::string index_file = "/home/someone/server/src/index.cpp";
  const sample_frame start{"_start", "", 0};
  const sample_frame libc_start{"__libc_start_main_impl", "../csu/libc-start.c", 381, libc};
  const sample_frame libc_call{"__libc_start_call_main", "../sysdeps/nptl/libc_start_call_main.h", 58, libc};
  const sample_frame main{"main", main_file, 12};
  const sample_frame clone{"clone3", "../sysdeps/unix/sysv/linux/x86_64/clone3.S", 81, libc};
  const sample_frame thread{"start_thread", "./nptl/pthread_create.c", 442, libc};
  const sample_frame native{"execute_native_thread_routine", "", 0, cxx};
  const sample_frame op_new{"operator new(unsigned long)", "", 0, cxx};
  const sample_frame grow{
      "void std::vector<server::entry<std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >, "
      "int>, std::allocator<server::entry<std::__cxx11::basic_string<char, std::char_traits<char>, "
      "std::allocator<char> >, int> > >::_M_realloc_insert<int>(int&&)",
      "/usr/include/c++/12/bits/vector.tcc", 459};
  const sample_frame load{"server::load_index(std::filesystem::path const&)",
                          index_file,
                          120,
                          "/usr/bin/program",
                          {{"std::vector<int>::push_back(int const&)", "/usr/include/c++/12/bits/stl_vector.h", 1287}}};
  const sample_frame load_again{"server::load_index(std::filesystem::path const&)", index_file, 120};
  const sample_frame parse{"server::parse(std::string_view)", index_file, 44};
  const sample_frame walk_a{"server::walk(server::tree const&)", index_file, 70};
  const sample_frame walk_b{"server::visit<server::tree>(server::tree const&)", index_file, 75};
  const sample_frame serve{"server::serve(int)", main_file, 80};
  const sample_frame format{"server::format_reply[abi:cxx11](int)", main_file, 61};
  const sample_frame plugin{"", "", 0, "/opt/plugins/libplugin.so"};

  builder.stack({op_new, grow, load, parse, main, libc_call, libc_start, start},
                booked(1200, 9'000'000, 300, 1'000'000, 8'500'000, 12));
  builder.stack({op_new, grow, load, main, libc_call, libc_start, start}, booked(100, 600'000, 0, 0, 600'000));
  std::vector<sample_frame> deep = {op_new, load_again};
  for (int i = 0; i < 40; ++i) deep.insert(deep.end(), {walk_a, walk_b});
  deep.insert(deep.end(), {main, libc_call, libc_start, start});
  builder.stack(deep, booked(40, 64'000, 10, 16'000, 50'000));
  builder.stack({{"malloc", "", 0, libc}, plugin, serve, native, thread, clone},
                booked(64, 4'194'304, 32, 2'097'152, 3'000'000));
  builder.stack({op_new, format, serve, native, thread, clone},
                booked(250'000, 24'000'000, 249'999, 23'999'904, 96, 240'000));
  builder.stack({{"calloc", "", 0, libc}, {"_dl_init_static_tls", "", 0, "/lib64/ld-linux-x86-64.so.2"}},
                booked(1, 1024, 0, 0, 1024));

  profile& p = builder.edit();
  p.process.pid = 4711;
  p.process.parent_pid = 4700;
  p.process.exe = "/usr/bin/program";
  p.process.command = {"./program", "--config", "my file.conf"};
  p.process.start_realtime_ns = 1'700'000'000'250'000'000;
  p.process.duration_ns = 12'500'000'000;
  p.process.ended = ending::signaled;
  p.process.signal = 9;
  p.process.stacks = "dwarf";
  p.process.host = "build7";
  p.peak.error_bytes = 131'072;
  p.peak.time_ns = 8'250'000'000;
  p.threads = {{4711, "program", 0, std::nullopt, 1341, 310, 9'665'024, 1'016'000},
               {4712, "worker", 1'000'000, 9'000'000'000, 125'032, 125'000, 14'000'000, 12'000'000},
               {4713, "worker", 1'000'000, std::nullopt, 125'032, 125'031, 14'194'304, 14'097'056}};
  p.sizes = {{0, 0, 0}, {1, 1, 3}, {64, 127, 250'000}, {1024, 2047, 41}, {4096, 8191, 1300}, {65536, 131071, 64}};
  for (int i = 0; i <= 50; ++i) {
    const std::int64_t live = i <= 33 ? 360'000LL * i : 11'880'000 - 65'000LL * (i - 33);
    p.timeline.push_back({i * 250'000'000LL, live, live / 100, static_cast<std::uint64_t>(i) * 5000,
                          static_cast<std::uint64_t>(live) + 4'000'000});
  }
  p.memory = memory_map{12'400'000'000, 20'000'000, 10'744'000, 10'632,  1'500'000,
                        100'000,        6'000'000,  250'000,    595'368, 800'000};
  p.memory_peak = memory_map{8'250'000'000, 21'500'000, 12'151'120, 10'800,  1'500'000,
                             992'712,       5'000'000,  250'000,    595'368, 1'000'000};
  p.mapped = {.peak_bytes = 80 << 20,
              .seen_ns = 12'400'000'000,
              .sites = {{p.nodes[p.stacks[3].node].parent, "anonymous", 12, 96 << 20, 32 << 20, 3, 750'000, 920'000},
                        {p.nodes[p.stacks[1].node].parent, "file", 1, 4 << 20, 0, 1, 50'000, 80'000}}};
  for (auto& module : p.modules)
    if (module.path == plugin.module) module.symbol_advice = "no symbols: install libplugin-dbgsym";
  p.errors = {{"double-free", 1, 3, p.stacks[4].node}, {"overflow", 5, 2}};
  p.profiler.segment_bytes = 1'200'000;
  p.profiler.private_bytes = 300'000;
  p.profiler.tag_bytes = 10'632;
  p.profiler.accounts = 6;
  p.profiler.nodes = 104;
  p.profiler.checked_stacks = 251'405;
  p.profiler.losses = {{"foreign_frees", 3}, {"stack_cut_no_rule", 1}, {"brand_new_loss", 2}};
  return builder.build();
}

}  // namespace heapledger::sample

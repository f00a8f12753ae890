#include <gtest/gtest.h>

#include <string>

#include "report_sample.hpp"
#include "tool/analyse/caller_tree.hpp"
#include "tool/analyse/groups.hpp"
#include "tool/analyse/measure.hpp"

namespace heapledger::analyse {
namespace {

using sample::booked;
using sample::profile_builder;
using sample::sample_frame;

const sample_frame op_new{"operator new(unsigned long)", "", 0, "/lib/libstdc++.so.6"};
const sample_frame main_frame{"main", "main.cpp", 3};
const sample_frame start{"_start", "", 0};

// "f(120) < g < main": the tree along its largest way, with lines where there are several.
std::string largest_way(const profile& p, const caller_tree& tree) {
  std::string text;
  for (std::uint32_t node = 0;;) {
    const caller& here = tree.nodes[node];
    text += (text.empty() ? "" : " < ") + std::string(function_name(p, here.frame));
    if (here.cycle != 0) text += "*" + std::to_string(here.times);
    if (here.children.empty()) return text;
    node = here.children.front();
  }
}

TEST(sites, merge_stacks_by_the_first_frame_that_matters) {
  profile_builder builder;
  const sample_frame reserve{"std::vector<int>::reserve(unsigned long)", "vector.tcc", 70};
  const sample_frame load{"load", "load.cpp", 10};
  builder.stack({op_new, load, main_frame, start}, booked(1, 100, 0, 0, 100));
  builder.stack({op_new, reserve, load, main_frame, start}, booked(2, 50, 1, 25, 25));
  builder.stack({op_new, {"load", "load.cpp", 11}, main_frame, start}, booked(5, 5, 5, 5, 0));
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].stacks, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(sites[0].count.live_bytes(), 125);
  EXPECT_EQ(sites[0].count.allocations, 3U);
  EXPECT_EQ(line_number(p, sites[1].frame), 11U);
  EXPECT_EQ(rank_sites(sites, measure::count, 10), (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(rank_sites(sites, measure::live, 10), (std::vector<std::uint32_t>{0}));  // the other lives no more
}

// Its main starts a thread: what starts threads looks like what begins them.
TEST(sites, of_a_stripped_program_are_its_own_frames) {
  profile_builder builder;
  builder.stack({{"calloc", "rtld-malloc.h", 44, "/lib/ld-linux-x86-64.so.2"},
                 {"pthread_create", "", 0, "/lib/libc.so.6"},
                 {"std::thread::_M_start_thread()", "", 0, "/lib/libstdc++.so.6"},
                 {"", "", 0, "/bin/stripped"},
                 {"__libc_start_main_impl", "", 0, "/lib/libc.so.6"},
                 {"", "", 0, "/bin/stripped"}},
                booked(1, 100, 0, 0, 100));
  const profile p = builder.build();
  machinery machinery(p);
  EXPECT_EQ(machinery.first_visible(p.stacks[0].node), 3U);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(function_name(p, sites[0].frame), "");
}

// As rustc 1.95 makes it, with debug information of the program and the library.
TEST(sites, of_a_rust_program_are_its_own_functions) {
  const std::string library = "/rustc/59807616/library/";
  const std::vector<sample_frame> outside = {
      {"core::ops::function::FnOnce::call_once", library + "core/src/ops/function.rs", 250},
      {"std::sys::backtrace::__rust_begin_short_backtrace", library + "std/src/sys/backtrace.rs", 166},
      {"std::rt::lang_start::{{closure}}", library + "std/src/rt.rs", 206},
      {"core::ops::function::impls::<impl core::ops::function::FnOnce<A> for &F>::call_once",
       "library/core/src/ops/f.rs", 287},
      {"std::rt::lang_start_internal", "library/std/src/rt.rs", 171},
      {"main"},
      start};
  std::vector<sample_frame> frames = {
      {"__rust_alloc"},
      {"alloc::raw_vec::RawVec<T,A>::with_capacity_in", library + "alloc/src/raw_vec/mod.rs", 20},
      {"<u8 as <[_]>::to_vec_in::ConvertVec>::to_vec", "library/alloc/src/slice.rs", 448},
      {"prog::make_item", "prog.rs", 6},
      {"core::iter::adapters::map::map_fold::{{closure}}", library + "core/src/iter/adapters/map.rs", 88},
      {"core::iter::traits::iterator::Iterator::fold", library + "core/src/iter/traits/iterator.rs", 2647},
      {"prog::load", "prog.rs", 7},
      {"prog::main", "prog.rs", 16}};
  frames.insert(frames.end(), outside.begin(), outside.end());
  profile_builder builder;
  builder.stack(frames, booked(1, 100, 0, 0, 100));
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(largest_way(p, build_callers(p, sites[0], machinery, {})), "prog::make_item < prog::load < prog::main");
  const auto whole = build_callers(p, sites[0], machinery, {.fold = false});
  EXPECT_EQ(whole.nodes.size(), 5U);
}

// As in Debian's libsqlite3: only what is exported has a name.
TEST(sites, of_a_stripped_library_are_not_below_its_malloc) {
  const std::string sqlite = "/lib/libsqlite3.so.0";
  const sample_frame nameless{"", "", 0, sqlite};
  profile_builder builder;
  builder.stack({op_new, nameless, {"sqlite3Malloc", "", 0, sqlite}, {"sqlite3VdbeMemGrow", "", 0, sqlite}, main_frame},
                booked(1, 100, 0, 0, 100));
  builder.stack({op_new, nameless, {"sqlite3_step", "", 0, sqlite}, main_frame}, booked(1, 100, 0, 0, 100));
  builder.stack({op_new, nameless, {"xmalloc", "", 0, "/bin/program"}, main_frame}, booked(1, 100, 0, 0, 100));
  builder.stack({op_new, nameless}, booked(1, 100, 0, 0, 100));
  const profile p = builder.build();
  machinery machinery(p);
  const std::size_t first[] = {3, 1, 1, 1};
  for (std::size_t i = 0; i < std::size(first); ++i) {
    EXPECT_EQ(machinery.first_visible(p.stacks[i].node), first[i]) << i;
    EXPECT_EQ(machinery.visible(expand_stack(p, p.stacks[i].node)).begin, first[i]) << i;
  }
}

// Also C++ programs have a namespace core.
TEST(sites, are_not_taken_for_rust_by_their_namespace) {
  profile_builder builder;
  builder.stack({op_new, {"core::engine::load()", "engine.cpp", 9}, main_frame, start}, booked(1, 100, 0, 0, 100));
  const profile p = builder.build();
  machinery machinery(p);
  EXPECT_EQ(function_name(p, find_sites(p, machinery)[0].frame), "core::engine::load()");
}

TEST(sites, add_up_to_the_totals) {
  const profile p = sample::killed_server();
  machinery machinery(p);
  counters sum;
  for (const auto& site : find_sites(p, machinery)) sum += site.count;
  EXPECT_EQ(sum.allocated_bytes, p.totals().allocated_bytes);
  EXPECT_EQ(sum.live_bytes(), p.totals().live_bytes());
  EXPECT_EQ(sum.peak_bytes, p.totals().peak_bytes);
}

TEST(sites, an_inlined_frame_of_the_program_matters_too) {
  profile_builder builder;
  sample_frame outer{"outer", "a.cpp", 9};
  outer.inlined = {{"std::make_unique<int>()", "unique_ptr.h", 1}, {"inner", "a.cpp", 5}};
  builder.stack({op_new, outer, main_frame}, booked(1, 1, 0, 0, 1));
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(function_name(p, sites[0].frame), "inner");
  const auto tree = build_callers(p, sites[0], machinery, {});
  EXPECT_EQ(largest_way(p, tree), "inner < outer < main");
  ASSERT_EQ(tree.left_out.size(), 2U);
  EXPECT_EQ(function_name(p, tree.left_out[0]), "operator new(unsigned long)");
}

TEST(sites, a_stack_of_machinery_alone_is_shown_whole) {
  profile_builder builder;
  builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, {"fopen", "", 0, "/lib/libc.so.6"}}, booked(1, 8, 0, 0, 8));
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(largest_way(p, build_callers(p, sites[0], machinery, {})), "malloc < fopen");
}

TEST(sites, allocations_without_a_stack_are_a_site) {
  profile_builder builder;
  builder.stack({}, booked(3, 30, 0, 0, 30));
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(sites[0].frame.location, none);
  EXPECT_TRUE(build_callers(p, sites[0], machinery, {}).nodes.empty());
}

TEST(callers, merge_recursion_of_any_depth) {
  profile_builder builder;
  const sample_frame walk{"walk", "w.cpp", 1};
  const sample_frame leaf{"leaf", "w.cpp", 9};
  for (const int depth : {1, 4, 90}) {
    std::vector<sample_frame> frames = {leaf};
    frames.insert(frames.end(), depth, walk);
    frames.push_back(main_frame);
    builder.stack(frames, booked(1, 10, 0, 0, 10));
  }
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  EXPECT_EQ(largest_way(p, build_callers(p, sites[0], machinery, {})), "leaf < walk*90 < main");
  caller_options unfolded;
  unfolded.fold = false;
  unfolded.depth = 200;
  EXPECT_EQ(build_callers(p, sites[0], machinery, unfolded).nodes.size(), 1U + 90U + 3U);
}

// Of a leak only the way that leaks is worth a look; of churn both are.
TEST(callers, that_have_nothing_of_a_measure_are_left_out) {
  profile_builder builder;
  const sample_frame open{"open", "session.cpp", 5};
  builder.stack({open, {"serve", "serve.cpp", 10}, {"tidy", "serve.cpp", 20}, main_frame}, booked(9, 90, 9, 90, 0));
  builder.stack({open, {"serve", "serve.cpp", 11}, {"leaky", "serve.cpp", 30}, main_frame}, booked(2, 20, 1, 10, 10));
  const profile p = builder.build();
  machinery machinery(p);
  const auto sites = find_sites(p, machinery);
  ASSERT_EQ(sites.size(), 1U);
  const auto tree_by = [&](measure by) { return build_callers(p, sites[0], machinery, {.by = by}); };
  const auto leaking = tree_by(measure::live);
  EXPECT_EQ(largest_way(p, leaking), "open < serve < leaky < main");
  EXPECT_EQ(leaking.nodes[1].lines, (std::vector<std::uint32_t>{11}));
  EXPECT_EQ(leaking.nodes[1].children.size(), 1U);
  EXPECT_EQ(tree_by(measure::count).nodes[1].children.size(), 2U);
}

TEST(callers, stop_at_the_depth_and_count_what_is_beyond) {
  profile_builder builder;
  std::vector<sample_frame> frames;
  for (int i = 0; i < 30; ++i) frames.push_back({"f" + std::to_string(i), "f.cpp", 1});
  builder.stack(frames, booked(1, 10, 0, 0, 10));
  const profile p = builder.build();
  machinery machinery(p);
  caller_options options;
  options.depth = 4;
  const auto tree = build_callers(p, find_sites(p, machinery)[0], machinery, options);
  ASSERT_EQ(tree.nodes.size(), 5U);
  EXPECT_EQ(tree.nodes.back().frames_beyond, 25U);
}

TEST(measure, ranks_by_value_then_id) {
  std::vector<stack_entry> stacks(3);
  stacks[0] = {7, 0, {}, booked(1, 50, 0, 0, 10)};
  stacks[1] = {3, 0, {}, booked(9, 50, 0, 0, 30)};
  stacks[2] = {5, 0, {}, booked(4, 60, 60, 60, 20, 4)};
  using order = std::vector<std::uint32_t>;
  EXPECT_EQ(rank_stacks(stacks, measure::live, 0), (order{1, 0, 2}));
  EXPECT_EQ(rank_stacks(stacks, measure::peak, 0), (order{1, 2, 0}));
  EXPECT_EQ(rank_stacks(stacks, measure::allocated, 2), (order{2, 1}));
  EXPECT_EQ(rank_stacks(stacks, measure::count, 1), (order{1}));
  EXPECT_EQ(rank_stacks(stacks, measure::temporary, 1), (order{2}));
  EXPECT_FALSE(parse_measure("size"));
  for (const auto name : measure_names) EXPECT_TRUE(parse_measure(name)) << name;
}

}  // namespace
}  // namespace heapledger::analyse

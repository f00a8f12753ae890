// The text report against golden files. After a wanted change, write them anew and look at the difference:
//   HEAPLEDGER_WRITE_GOLDEN=1 build/release/bin/unit_tests --gtest_filter='*golden*'; git diff tests/golden
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "report_sample.hpp"
#include "temporary_folder.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/text.hpp"
#include "wire/segment.hpp"

namespace heapledger::report {
namespace {

using sample::booked;
using sample::profile_builder;

text_options plain(std::size_t width = 100, bool unicode = false) {
  text_options options;
  options.style.width = width;
  options.style.unicode = unicode;
  options.file = "heapledger.program.4711.hlp";
  return options;
}

std::string utc_report(const profile& p, const text_options& options) {
  setenv("TZ", "UTC", 1);
  return text_report(p, options);
}

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = HEAPLEDGER_SOURCE_DIR "/tests/golden/" + name + ".txt";
  if (std::getenv("HEAPLEDGER_WRITE_GOLDEN") != nullptr) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  EXPECT_EQ(text, contents(path)) << path;
}

// A program that came to its end: everything freed but one block, one thread, no losses.
profile tidy_program() {
  profile_builder builder;
  builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, {"read_line", "tool.c", 31}, {"main", "tool.c", 77}},
                booked(1000, 64'000, 1000, 64'000, 64, 1000));
  builder.stack({{"calloc", "", 0, "/lib/libc.so.6"}, {"make_table", "tool.c", 12}, {"main", "tool.c", 70}},
                booked(1, 4096, 0, 0, 4096));
  profile& p = builder.edit();
  p.process.command = {"tool"};
  p.process.pid = 12;
  p.process.ended = ending::exited;
  p.process.exit_code = 3;
  p.process.duration_ns = 4'200'000;
  p.peak.time_ns = 1'000'000;
  p.threads = {{12, "tool", 0, std::nullopt, 1001, 1000, 68'096, 64'000}};
  return builder.build();
}

TEST(report_text, killed_server_golden) {
  expect_golden("killed_server", utc_report(sample::killed_server(), plain()));
}

// Beside each place that the moments tell of, whatever else the profile knows.
TEST(report_text, places_over_time_golden) {
  profile p = sample::killed_server();
  for (std::uint32_t stack = 0; stack < p.stacks.size(); ++stack)
    for (std::int64_t i = 0; i < 8; ++i)
      p.stack_timeline.push_back({stack, i * 1'500'000'000, stack < 2 ? 1000 * i : 7000 - 1000 * i});
  expect_golden("places_over_time", utc_report(p, plain(100, true)));
  p.stack_timeline.erase(p.stack_timeline.begin(), p.stack_timeline.end() - 3);
  EXPECT_EQ(utc_report(p, plain()), utc_report(sample::killed_server(), plain())) << "three moments are no shape";
}

TEST(report_text, killed_server_narrow_golden) {
  expect_golden("killed_server_80", utc_report(sample::killed_server(), plain(80)));
}

TEST(report_text, killed_server_unicode_golden) {
  auto options = plain(120, true);
  options.by = analyse::measure::temporary;
  options.top = 2;
  expect_golden("killed_server_unicode", utc_report(sample::killed_server(), options));
}

TEST(report_text, what_is_next_is_worth_a_look) {
  const std::string page = "  heapledger html heapledger.program.4711.hlp\n";
  const std::string churning = utc_report(tidy_program(), plain());
  EXPECT_NE(churning.find(page), std::string::npos) << churning;
  EXPECT_NE(churning.find("report --by temporary "), std::string::npos);
  profile_builder builder;
  builder.stack({{"main", "tool.c", 77}}, booked(1000, 1000, 0, 0, 1000, 1));
  EXPECT_NE(utc_report(builder.build(), plain()).find("report --by allocated "), std::string::npos);
  auto seen = plain();
  seen.by = analyse::measure::temporary;
  EXPECT_EQ(utc_report(tidy_program(), seen).find("report --by temporary "), std::string::npos) << "that is this one";
}

TEST(report_text, a_watch_is_next_where_it_can_tell_a_leak) {
  const auto next = [](const profile& p, const char* file) {
    auto options = plain();
    options.file = file;
    const std::string text = utc_report(p, options);
    return text.substr(text.find("\nNext\n"));
  };
  profile p = sample::killed_server();
  p.leaks.reset();
  p.process.duration_ns = 59'000'000'000;
  EXPECT_EQ(next(p, "a.hlp").find("leaks"), std::string::npos) << "too short to tell";
  p.process.duration_ns = 3'600'000'000'000;
  EXPECT_NE(next(p, "a.hlp").find("heapledger run --leaks ..."), std::string::npos);
  p.process.ended = ending::running;
  EXPECT_NE(next(p, "4711").find("heapledger leaks 4711\n"), std::string::npos);
  EXPECT_EQ(next(p, "4711@before").find("leaks"), std::string::npos);
}

TEST(report_text, what_the_allocator_keeps_is_told_before_the_lists) {
  profile p = tidy_program();
  constexpr std::int64_t mib = 1024 * 1024;
  p.memory = memory_map{.time_ns = 2'000'000'000,
                        .rss_bytes = 160 * mib,
                        .live_bytes = 4 * mib,
                        .allocator_bytes = 150 * mib,
                        .file_bytes = 6 * mib};
  const std::string text = utc_report(p, plain());
  const auto word = text.find("150.0 MiB of 160.0 MiB of resident memory at 2.00 s are in no live block");
  ASSERT_NE(word, std::string::npos) << text;
  EXPECT_LT(word, text.find("at the peak: "));
  std::swap(p.memory->live_bytes, p.memory->allocator_bytes);
  EXPECT_EQ(utc_report(p, plain()).find("in no live block"), std::string::npos);
}

TEST(report_text, small_places_name_the_program_s_callers) {
  const sample::sample_frame malloc = {"malloc", "", 0, "/lib/libc.so.6"};
  const sample::sample_frame main = {"main", "tool.c", 77};
  profile_builder builder;
  for (const char* large : {"a", "b", "c"})
    builder.stack({malloc, {large, "tool.c", 1}, main}, booked(10, 1000, 0, 0, 1000));
  const auto inside = [](const char* name) {
    return sample::sample_frame{name, "/usr/include/c++/12/bits/stl_vector.h", 9};
  };
  builder.stack({malloc,
                 {"order::order", "tool.c", 5},
                 inside("std::construct_at<order>"),
                 inside("std::vector<order>::push_back"),
                 {"serve", "tool.c", 50},
                 main},
                booked(1, 100, 0, 0, 100));
  EXPECT_NE(utc_report(builder.build(), plain()).find("called by serve < main\n"), std::string::npos);
}

TEST(report_text, recursion_in_full_golden) {
  auto options = plain();
  options.by = analyse::measure::live;
  options.depth = 50;
  options.full_recursion = true;
  profile_builder builder;
  std::vector<sample::sample_frame> frames = {{"leaf", "walk.c", 5}};
  for (int i = 0; i < 6; ++i) frames.insert(frames.end(), {{"even", "walk.c", 8}, {"odd", "walk.c", 13}});
  frames.push_back({"main", "walk.c", 20});
  builder.stack(frames, booked(2, 200, 0, 0, 200));
  builder.edit().process.ended = ending::running;
  const profile p = builder.build();
  std::string text = utc_report(p, options);
  options.full_recursion = false;
  text += utc_report(p, options);
  expect_golden("recursion", text);
}

TEST(report_text, stacks_that_are_left_out_are_told) {
  auto options = plain();
  options.left_out = {true, false};
  options.left_out_by = "--ignore read_line";
  std::string text = utc_report(tidy_program(), options);
  EXPECT_NE(text.find("without 1,000 allocations in 1 stack, left out by --ignore read_line; shares are of all"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("tool.c:31"), std::string::npos) << text;
  EXPECT_NE(text.find("tool.c:12"), std::string::npos) << text;
  options = plain();
  options.known = {false, true};
  text = utc_report(tidy_program(), options);
  EXPECT_NE(text.find("without 4.0 KiB in 1 stack, left out by --suppressions"), std::string::npos) << text;
  EXPECT_NE(text.find("allocated      66.5 KiB"), std::string::npos) << text;
  EXPECT_NE(text.find("tool.c:12"), std::string::npos) << "it is left out of what was never freed only";
}

TEST(report_text, full_recursion_says_how_to_see_it) {
  profile_builder builder;
  std::vector<sample::sample_frame> frames(30, {"walk", "walk.c", 8});
  frames.push_back({"main", "walk.c", 20});
  builder.stack(frames, booked(2, 200, 0, 0, 200));
  auto options = plain();
  EXPECT_EQ(utc_report(builder.build(), options).find("farther out"), std::string::npos);
  options.full_recursion = true;
  EXPECT_NE(utc_report(builder.build(), options).find("farther out; --depth 100 shows a hundred"), std::string::npos);
  options.depth = 12;
  EXPECT_EQ(utc_report(builder.build(), options).find("--depth"), std::string::npos);
}

TEST(report_text, without_stacks_there_are_no_places) {
  profile p = tidy_program();
  p.process.stacks = "off";
  const std::string text = utc_report(p, plain());
  EXPECT_NE(text.find("Record without that option to see the places."), std::string::npos) << text;
  EXPECT_NE(text.find("heapledger run -- ..."), std::string::npos) << text;
  for (const char* list : {"Where the memory", "What churns", "Never freed:", "--by temporary"})
    EXPECT_EQ(text.find(list), std::string::npos) << text;
}

TEST(report_text, a_list_that_was_asked_for_and_is_empty_is_said_to_be) {
  auto options = plain();
  options.by = analyse::measure::temporary;
  profile p = tidy_program();
  for (auto& stack : p.stacks) stack.count.temporaries = 0;
  EXPECT_NE(utc_report(p, options).find("What is freed at once: 0 temporary allocations"), std::string::npos);
}

profile window_of(const counters& startup, const counters& loader, const counters& cache) {
  profile_builder builder;
  builder.stack({{"startup", "tool.c", 12}, {"main", "tool.c", 70}}, startup);
  builder.stack({{"loader", "tool.c", 31}, {"main", "tool.c", 77}}, loader);
  builder.stack({{"cache", "tool.c", 41}, {"main", "tool.c", 78}}, cache);
  profile& p = builder.edit();
  p.process.command = {"tool"};
  p.window =
      window_info{.since = {.name = "warm", .time_ns = 1'000'000}, .until = {.name = "late", .time_ns = 2'000'000}};
  return builder.build();
}

TEST(report_text, what_grew_in_a_window_is_not_hidden_by_what_shrank) {
  const auto freed = booked(0, 0, 1, 12 << 20, 0);
  const auto p = window_of(freed, booked(8, 8 << 20, 0, 0, 0), booked(2, 2 << 20, 0, 0, 0));
  auto options = plain();
  options.by = analyse::measure::live;
  const std::string text = utc_report(p, options);
  for (const char* words : {"What grew: 10.0 MiB (12.0 MiB shrank elsewhere)", " 80.0 %  8.0 MiB in 8 blocks",
                            " 20.0 %  2.0 MiB in 2 blocks"})
    EXPECT_NE(text.find(words), std::string::npos) << words << text;
  options.left_out = {false, true, false};
  EXPECT_NE(utc_report(p, options).find(" 20.0 %  2.0 MiB in 2 blocks"), std::string::npos) << "shares are of all";
}

TEST(report_text, a_window_in_which_nothing_grew_says_so) {
  const std::string text = utc_report(window_of(booked(0, 0, 1, 2048, 0), {}, {}), plain());
  EXPECT_NE(text.find("What grew: nothing (2.0 KiB shrank)"), std::string::npos) << text;
  EXPECT_NE(text.find("  shrank by      2.0 KiB in 1 block\n"), std::string::npos) << text;
}

TEST(report_text, bytes_and_blocks_of_a_window_may_go_different_ways) {
  const auto more_blocks = utc_report(window_of(booked(3, 300, 1, 2348, 0), {}, {}), plain());
  EXPECT_NE(more_blocks.find("  changed by     -2.0 KiB in +2 blocks\n"), std::string::npos) << more_blocks;
  const auto fewer_blocks = utc_report(window_of(booked(1, 2348, 3, 300, 0), {}, {}), plain());
  EXPECT_NE(fewer_blocks.find("  changed by     +2.0 KiB in -2 blocks\n"), std::string::npos) << fewer_blocks;
}

TEST(report_text, fewer_and_larger_blocks_have_no_average) {
  const std::string text = utc_report(window_of(booked(1, 4096, 3, 300, 0), {}, {}), plain());
  EXPECT_NE(text.find("3.7 KiB in -2 blocks\n"), std::string::npos) << text;
}

TEST(report_text, tidy_program_golden) {
  expect_golden("tidy_program", utc_report(tidy_program(), plain()));
}

TEST(report_text, empty_profile_golden) {
  expect_golden("empty", utc_report({}, plain()));
}

TEST(report_text, a_peak_below_the_timeline_is_raised_to_what_was_seen) {
  profile p = tidy_program();
  p.peak.error_bytes = 8192;
  p.timeline = {{0, 0, 0, 0, 0}, {2'000'000, 5120, 1, 1, 0}, {4'000'000, 4096, 1, 1, 0}};
  std::string text = utc_report(p, plain());
  EXPECT_NE(text.find("  peak           at least 5.0 KiB, seen 2.00 ms after the start\n"
                      "    by stack     4.1 KiB, 1.00 ms after the start; true to within 8.0 KiB\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Where the memory was at the peak: 4.1 KiB"), std::string::npos) << "what the stacks add up to";
  p.peak.error_bytes = 0;  // exact: the sample was taken in the middle of an event
  EXPECT_NE(utc_report(p, plain()).find("  peak           4.1 KiB, 1.00 ms after the start\n"), std::string::npos);
}

TEST(report_text, fits_every_width) {
  profile p = sample::killed_server();
  p.process.command.push_back(std::string(500, 'x'));
  p.process.host = std::string(300, 'h');
  for (const bool unicode : {false, true}) {
    for (std::size_t width = 80; width <= 160; ++width) {
      std::istringstream lines(utc_report(p, plain(width, unicode)));
      for (std::string line; std::getline(lines, line);) {
        EXPECT_LE(columns(line), width) << line;
        EXPECT_FALSE(line.ends_with(' ')) << line;
      }
    }
  }
}

TEST(report_text, colour_only_where_asked_for) {
  auto options = plain();
  EXPECT_EQ(utc_report(sample::killed_server(), options).find('\x1b'), std::string::npos);
  options.style.colour = true;
  EXPECT_NE(utc_report(sample::killed_server(), options).find("\x1b[1m"), std::string::npos);
}

TEST(report_text, a_hostile_profile_cannot_drive_the_terminal) {
  const std::string hostile = "evil\x1b]0;title\a\n\x9b\u202e\xff\"";
  profile_builder builder;
  builder.stack({{hostile, hostile, 1, hostile}, {"", "", 0, hostile + "2"}}, booked(1, 10, 0, 0, 10));
  profile& p = builder.edit();
  p.process.command = {hostile};
  p.process.host = hostile;
  p.threads = {{1, hostile, 0, {}, 1, 0, 10, 0}, {2, "b", 0, {}, 1, 0, 10, 0}};
  p.errors = {{hostile, 1, 1}};
  p.profiler.losses = {{hostile, 1}};
  auto options = plain();
  options.file = hostile;
  const std::string text = utc_report(p, options);
  EXPECT_EQ(text, [&] {  // every line is what terminal_text would leave as it is
    std::string clean;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) clean += terminal_text(line) + "\n";
    return clean;
  }());
}

TEST(report_text, every_loss_of_the_segment_has_words) {
  for (const char* name : wire::loss_names) {
    EXPECT_EQ(loss_text(name, 2).find("no words"), std::string::npos) << name;
    EXPECT_EQ(loss_text(name, 2).find(name), std::string::npos) << name;
  }
}

TEST(report_text, memory_parts_shown_add_up_to_the_rss_shown) {
  profile p;
  p.memory = memory_map{0, 0, 1'048'000, 1'500, 2'700, -700, 511, 513, 1'023};
  p.memory->rss_bytes = 1'048'000 + 1'500 + 2'700 - 700 + 511 + 513 + 1'023;
  const std::string text = utc_report(p, plain());
  std::istringstream lines(text.substr(text.find("Resident memory")));
  std::int64_t sum = 0;
  std::int64_t rss = -1;
  for (std::string line; std::getline(lines, line) && rss < 0;) {
    const std::size_t unit = line.find(" KiB");
    if (unit == std::string::npos) continue;
    std::string digits = line.substr(17, unit - 17);
    std::erase(digits, ',');
    (line.find("RSS") == 2 ? rss : sum) += std::stoll(digits) + (line.find("RSS") == 2 ? 1 : 0);
  }
  EXPECT_EQ(sum, rss);
  EXPECT_EQ(rss, 1029);
  EXPECT_NE(text.find("below zero"), std::string::npos);
  EXPECT_EQ(text.find("not explained"), std::string::npos);
}

TEST(report_text, less_than_one_allocation_a_second_has_no_rate) {
  profile p = tidy_program();
  EXPECT_EQ(utc_report(p, plain()).find(" a second"), std::string::npos) << "too short to tell";
  p.process.duration_ns = 10'000'000'000;
  EXPECT_NE(utc_report(p, plain()).find("1,001 allocations, 100 a second"), std::string::npos);
  p.process.duration_ns = 10'000'000'000'000;
  EXPECT_EQ(utc_report(p, plain()).find(" a second"), std::string::npos);
}

// Of many scopes those are shown that allocate most, that hold most and that were refused memory, also where they are
// alike.
TEST(report_text, scopes_that_are_alike_are_not_all_left_out) {
  profile_builder builder;
  for (int i = 0; i < 40; ++i) builder.stack({{"serve", "serve.c", 7}}, booked(10, 1000, 10, 1000, 0));
  builder.stack({{"keep", "keep.c", 7}}, booked(1, 500, 0, 0, 500));
  profile& p = builder.edit();
  p.process.ended = ending::exited;
  for (int i = 0; i < 40; ++i) p.stacks[i].scope = {"kind " + std::to_string(100 + i)};
  p.stacks[40].scope = {"small", "cache"};
  p.scopes = {{.path = {"kind 139"}, .opened = 9, .closed = 9, .refusals = 8}};
  const std::string text = utc_report(p, plain());
  for (const char* shown : {"  kind 100 ", "  kind 115 ", "  kind 139 ", "8 allocations refused", "  small ",
                            "    cache ", "  23 more kinds"})
    EXPECT_NE(text.find(shown), std::string::npos) << shown << text;
  const std::string rest = text.substr(text.find("  23 more kinds"));
  EXPECT_LT(rest.find(" 22.5 KiB "), rest.find('\n')) << "so that what is in the column allocated adds up: " << rest;
  for (const char* left_out : {"  kind 116 ", "  kind 138 "})
    EXPECT_EQ(text.find(left_out), std::string::npos) << left_out << text;
}

TEST(report_text, growth_by_realloc_is_told_from_temporaries) {
  profile_builder builder;
  counters grown = booked(1000, 500'000, 999, 499'000, 1000, 990);
  grown.reallocations = 980;
  builder.stack({{"slurp", "read.c", 7}}, grown);
  EXPECT_NE(utc_report(builder.build(), plain()).find("99.0 % temporary, 98.0 % by realloc"), std::string::npos);
  builder.edit().stacks[0].count.reallocations = 50;
  EXPECT_EQ(utc_report(builder.build(), plain()).find("by realloc"), std::string::npos);
}

TEST(report_text, memory_that_python_maps_is_its_objects) {
  profile p = tidy_program();
  mapped_site arenas{.node = p.stacks[0].node, .kind = "anonymous", .calls = 80, .mapped_bytes = 80 << 20};
  arenas.resident_bytes = 80 << 20;
  p.mapped = mapped_info{.peak_bytes = 80 << 20, .sites = {arenas}};
  p.memory = memory_map{};
  p.memory->rss_bytes = 100 << 20;
  p.memory->mapped_bytes = 80 << 20;
  EXPECT_EQ(utc_report(p, plain()).find("PYTHONMALLOC"), std::string::npos);
  p.modules[0].path = "/usr/bin/python3.11";
  EXPECT_NE(utc_report(p, plain()).find("PYTHONMALLOC=malloc"), std::string::npos);
  p.mapped->sites[0].kind = "file";
  EXPECT_EQ(utc_report(p, plain()).find("PYTHONMALLOC"), std::string::npos);
}

TEST(report_text, scopes_named_one_by_one_are_told_how_to_add_up) {
  profile p = tidy_program();
  for (int i = 0; i < 1000; ++i) p.scopes.push_back({.path = {"request " + std::to_string(i)}, .opened = 1});
  const std::string words = "1,000 of 1,001 kinds had one scope each";
  p.scopes.push_back({.path = {"request"}, .opened = 5'000});
  EXPECT_NE(utc_report(p, plain()).find(words), std::string::npos) << utc_report(p, plain());
  for (auto& kind : p.scopes) kind.opened = 2;
  EXPECT_EQ(utc_report(p, plain()).find("one scope each"), std::string::npos);
}

TEST(report_text, ranges_that_one_call_left_are_no_calls) {
  profile p = tidy_program();
  mapped_site site{.node = p.stacks[0].node, .kind = "anonymous", .calls = 1, .mapped_bytes = 24 << 12};
  site.ranges = 12;
  p.mapped = mapped_info{.peak_bytes = 24 << 12, .sites = {site}};
  const std::string text = utc_report(p, plain());
  EXPECT_NE(text.find("1 call mapped at most"), std::string::npos) << text;
  EXPECT_NE(text.find("mapped in 12 ranges; 1 call"), std::string::npos) << text;
}

}  // namespace
}  // namespace heapledger::report

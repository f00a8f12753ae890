#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "report_sample.hpp"
#include "tool/report/diff_json.hpp"
#include "tool/report/json.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::report {
namespace {

using nlohmann::json;
using sample::booked;
using sample::profile_builder;

std::string json_text(const profile& p, const json_options& options = {}) {
  std::string text;
  write_json(p, options, [&](std::string_view piece) { text += piece; });
  return text;
}
json parsed(const profile& p, const json_options& options = {}) {
  return json::parse(json_text(p, options));
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [name, value] : object.items()) names.insert(name);
  return names;
}

void expect_keys(const json& object, const std::set<std::string>& promised) {
  for (const auto& name : promised) EXPECT_TRUE(object.contains(name)) << name;
}

TEST(report_json, has_every_promised_key) {
  const json report = parsed(sample::killed_server());
  EXPECT_EQ(report["format"], "heapledger-report");
  EXPECT_EQ(report["version"], 1);
  expect_keys(report, {"process", "totals", "threads", "sizes", "profiler", "stacks", "timeline", "errors", "memory",
                       "modules"});
  expect_keys(report["process"], {"pid", "exe", "command", "start_time", "duration", "ended", "signal"});
  expect_keys(report["totals"],
              {"allocations", "frees", "reallocations", "temporaries", "allocated_bytes", "freed_bytes", "live_blocks",
               "live_bytes", "peak_bytes", "peak_bytes_error", "peak_time"});
  expect_keys(report["threads"][0], {"tid", "name", "allocations", "frees", "allocated_bytes", "freed_bytes"});
  expect_keys(report["sizes"][0], {"from", "to", "allocations"});
  expect_keys(report["profiler"], {"own_bytes", "tag_bytes", "accounts", "losses", "check"});
  for (const auto& stack : report["stacks"]) {
    expect_keys(stack, {"id", "scope", "allocations", "frees", "temporaries", "allocated_bytes", "freed_bytes",
                        "live_blocks", "live_bytes", "peak_bytes", "frames"});
    for (const auto& frame : stack["frames"]) {
      expect_keys(frame, {"module", "address", "inlined"});
      EXPECT_TRUE(frame["inlined"].is_boolean());
      EXPECT_TRUE(frame["address"].get<std::string>().starts_with("0x"));
    }
  }
  expect_keys(report["timeline"][1], {"time", "live_bytes", "live_blocks", "allocations", "rss_bytes"});
  expect_keys(report["errors"][0], {"kind", "count", "stack"});
  expect_keys(report["memory"], {"time", "rss_bytes", "live_bytes", "tag_bytes", "profiler_bytes", "allocator_bytes",
                                 "mapped_bytes", "file_bytes", "stack_bytes", "other_bytes"});
  expect_keys(report["modules"][0], {"path", "build_id", "start", "end", "bias"});
}

TEST(report_json, places_over_time_where_they_are_known) {
  profile p = sample::killed_server();
  EXPECT_FALSE(parsed(p).contains("places"));
  for (std::int64_t i = 0; i < 5; ++i) p.stack_timeline.push_back({1, i * 500'000'000, 100 * i});
  const json places = parsed(p)["places"];
  ASSERT_EQ(places.size(), 1U);
  EXPECT_EQ(places[0]["timeline"][3], (json{{"time", 1.5}, {"live_bytes", 300}}));
  expect_keys(places[0]["frame"], {"function", "module", "address", "inlined"});
}

TEST(report_json, times_are_seconds) {
  const json report = parsed(sample::killed_server());
  EXPECT_DOUBLE_EQ(report["process"]["duration"], 12.5);
  EXPECT_DOUBLE_EQ(report["process"]["start_time"], 1'700'000'000.25);
  EXPECT_DOUBLE_EQ(report["totals"]["peak_time"], 8.25);
  EXPECT_DOUBLE_EQ(report["timeline"][1]["time"], 0.25);
  EXPECT_EQ(json_seconds(1), "0.000000001");
  EXPECT_EQ(json_seconds(0), "0.0");
  EXPECT_EQ(json_seconds(-1'500'000'000), "-1.5");
  EXPECT_EQ(json_seconds(INT64_MIN), "-9223372036.854775808");
}

TEST(report_json, stacks_add_up_to_the_totals) {
  const json report = parsed(sample::killed_server());
  for (const char* name : {"allocations", "frees", "reallocations", "temporaries", "allocated_bytes", "freed_bytes",
                           "live_blocks", "live_bytes", "peak_bytes"}) {
    std::int64_t sum = 0;
    for (const auto& stack : report["stacks"]) sum += stack[name].get<std::int64_t>();
    EXPECT_EQ(sum, report["totals"][name].get<std::int64_t>()) << name;
  }
}

TEST(report_json, what_does_not_apply_is_absent) {
  profile_builder builder;
  builder.stack({{"", "", 0, ""}}, booked(1, 1, 0, 0, 1));
  builder.edit().process.ended = ending::exited;
  builder.edit().process.exit_code = 0;
  const json report = parsed(builder.build());
  EXPECT_EQ(report["process"]["ended"], "exited");
  EXPECT_EQ(report["process"]["exit_code"], 0);
  EXPECT_FALSE(report["process"].contains("signal"));
  EXPECT_FALSE(report["totals"].contains("peak_time"));
  EXPECT_FALSE(report.contains("memory"));
  EXPECT_FALSE(report["profiler"].contains("check"));
  EXPECT_TRUE(report["profiler"]["losses"].is_object());
  EXPECT_EQ(keys(report["stacks"][0]["frames"][0]), (std::set<std::string>{"address", "inlined"}));
}

TEST(report_json, what_is_left_out_and_what_is_shown_add_up) {
  profile p = sample::killed_server();
  p.stacks[0].count.reallocations = 3;
  std::vector<bool> left_out(p.stacks.size());
  for (std::size_t i = 0; i < left_out.size(); i += 2) left_out[i] = true;
  const json report = parsed(p, {.left_out = left_out});
  EXPECT_EQ(report["totals"], parsed(p)["totals"]);
  EXPECT_EQ(report["left_out"]["stacks"].get<std::size_t>() + report["stacks"].size(), p.stacks.size());
  for (const char* key : {"allocations", "frees", "temporaries", "reallocations", "allocated_bytes", "freed_bytes",
                          "live_blocks", "live_bytes", "peak_bytes"}) {
    std::int64_t sum = report["left_out"][key].get<std::int64_t>();
    for (const auto& stack : report["stacks"]) sum += stack[key].get<std::int64_t>();
    EXPECT_EQ(sum, report["totals"][key].get<std::int64_t>()) << key;
  }
  EXPECT_EQ(parsed(p, {.top = 1, .left_out = left_out})["stacks"].size(), 1U);
  EXPECT_FALSE(parsed(p).contains("left_out"));
  p.window.emplace();
  EXPECT_FALSE(parsed(p, {.left_out = left_out})["left_out"].contains("peak_bytes"));
}

TEST(report_json, frames_beyond_the_depth_are_counted) {
  profile_builder builder;
  builder.stack({{"malloc"}, {"outer", "o.cpp", 4, "/bin/p", {{"deep", "d.cpp", 2}, {"mid", "m.cpp", 3}}}, {"main"}},
                booked(1, 8, 0, 0, 8));
  builder.stack({{"malloc"}, {"main"}}, booked(1, 8, 0, 0, 8));
  for (const std::size_t depth : {0U, 1U, 3U, 5U}) {
    const json stacks = parsed(builder.build(), {.depth = depth})["stacks"];
    const std::size_t kept = depth == 0 ? 5 : depth;
    ASSERT_EQ(stacks[0]["frames"].size(), kept) << depth;
    EXPECT_EQ(stacks[0].value("frames_left_out", 0U), 5 - kept) << depth;
    EXPECT_EQ(stacks[1]["frames"].size() + stacks[1].value("frames_left_out", 0U), 2U) << depth;
    EXPECT_EQ(stacks[0].contains("frames_left_out"), kept != 5);
  }
}

TEST(report_json, frames_run_outward_and_name_the_inlined_ones) {
  profile_builder builder;
  sample::sample_frame outer{"outer()", "a.cpp", 9};
  outer.inlined = {{"innermost()", "a.hpp", 1}, {"inner()", "a.hpp", 2}};
  builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, outer, {"main", "a.cpp", 20}}, booked(1, 1, 0, 0, 1));
  const json frames = parsed(builder.build())["stacks"][0]["frames"];
  ASSERT_EQ(frames.size(), 5U);
  const std::pair<const char*, bool> wanted[] = {
      {"malloc", false}, {"innermost()", true}, {"inner()", true}, {"outer()", false}, {"main", false}};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(frames[i]["function"], wanted[i].first);
    EXPECT_EQ(frames[i]["inlined"], wanted[i].second);
  }
  EXPECT_EQ(frames[1]["address"], frames[3]["address"]);
  EXPECT_EQ(frames[2]["line"], 2);
  EXPECT_FALSE(frames[0].contains("file"));
  EXPECT_FALSE(frames[0].contains("line"));
  EXPECT_EQ(frames[0]["module"], "/lib/libc.so.6");
}

TEST(report_json, orders_and_cuts_as_asked) {
  const profile p = sample::killed_server();
  for (const auto by : {analyse::measure::live, analyse::measure::peak, analyse::measure::allocated,
                        analyse::measure::count, analyse::measure::temporary}) {
    const json all = parsed(p, {by, 0})["stacks"];
    EXPECT_EQ(all.size(), p.stacks.size());
    const json cut = parsed(p, {by, 2})["stacks"];
    ASSERT_EQ(cut.size(), 2U);
    EXPECT_EQ(cut[0], all[0]);
    EXPECT_EQ(cut[1], all[1]);
  }
  EXPECT_EQ(parsed(p, {analyse::measure::temporary, 1})["stacks"][0]["allocations"], 250'000);
}

TEST(report_json, hostile_names_stay_valid_json) {
  const std::string hostile = "a\"b\\c\n\t\x01\x7f\x1b[31m\xff\xc3(\xed\xa0\x80\u2028 end";
  profile_builder builder;
  builder.stack({{hostile, hostile, 1, hostile}}, booked(1, 1, 0, 0, 1));
  profile& p = builder.edit();
  p.process.command = {hostile};
  p.process.exe = hostile;
  p.process.host = hostile;
  p.threads = {{1, hostile, 0, {}, 1, 0, 1, 0}};
  p.errors = {{hostile, 1, 1}};
  p.profiler.losses = {{hostile, 1}};
  p.stacks[0].scope = {hostile, "inner"};
  const std::string text = json_text(p);
  ASSERT_TRUE(json::accept(text));
  for (const char c : text) EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n');
  const json report = json::parse(text);
  const std::string name = report["threads"][0]["name"];
  EXPECT_TRUE(name.starts_with("a\"b\\c\n\t\x01\x7f\x1b[31m"));
  EXPECT_TRUE(name.ends_with("\u2028 end"));
  EXPECT_EQ(report["stacks"][0]["scope"][0], name);
  EXPECT_EQ(report["process"]["command"][0], name);
  EXPECT_EQ(report["stacks"][0]["frames"][0]["function"], name);
}

TEST(report_json, no_control_reaches_a_terminal) {
  EXPECT_EQ(json_string("a\x7f\xc2\x80\xc2\x9b\xc2\xa0\xc3\xa9\x1b"),
            "\"a\\u007f\\u0080\\u009b\xc2\xa0\xc3\xa9\\u001b\"");
}

TEST(report_json, an_empty_profile_is_an_object_too) {
  const json report = parsed({});
  EXPECT_TRUE(report["stacks"].empty());
  EXPECT_EQ(report["totals"]["live_bytes"], 0);
}

TEST(report_json, is_written_in_pieces) {
  profile_builder builder;
  std::vector<sample::sample_frame> frames;
  for (int i = 0; i < 200; ++i) frames.push_back({"function_" + std::to_string(i), "file.cpp", 1});
  for (int i = 0; i < 300; ++i) builder.stack(frames, booked(1, 1, 0, 0, 1));
  std::size_t pieces = 0;
  std::size_t largest = 0;
  write_json(builder.build(), {}, [&](std::string_view piece) {
    ++pieces;
    largest = std::max(largest, piece.size());
  });
  EXPECT_GT(pieces, 5U);
  EXPECT_LT(largest, 1'000'000U);
}

TEST(report_json, a_piece_of_a_comparison_may_end_before_a_frame_without_a_name) {
  const auto pieces_of = [](std::size_t padding) {
    profile_builder builder;
    builder.edit().process.command = {std::string(padding, 'x')};
    builder.stack({{.function = {}, .module = {}}}, booked(1, 1, 0, 0, 1));
    const profile p = builder.build();
    std::vector<std::string> pieces;
    write_diff_json(diff::comparison({}, p), {}, {}, [&](std::string_view piece) { pieces.emplace_back(piece); });
    return pieces;
  };
  constexpr std::string_view start = "\"frames\":[{";
  const auto before = pieces_of(0).at(0).find(start);
  ASSERT_NE(before, std::string::npos);
  const auto pieces = pieces_of(std::size_t{256} * 1024 - before - start.size());
  ASSERT_EQ(pieces.size(), 2U);
  EXPECT_TRUE(pieces[0].ends_with(start));
  EXPECT_TRUE(json::accept(pieces[0] + pieces[1])) << pieces[1];
}

}  // namespace
}  // namespace heapledger::report

// The leak report, for people and for programs.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report_sample.hpp"
#include "tool/report/leaks_json.hpp"
#include "tool/report/leaks_text.hpp"

namespace heapledger::report {
namespace {

profile watched_server() {
  sample::profile_builder builder;
  builder.stack(
      {{"malloc", "", 0, "/usr/lib/libc.so.6"}, {"remember", "/src/session.cpp", 40}, {"main", "/src/main.cpp", 9}},
      sample::booked(1000, 64000, 0, 0, 64000));
  builder.stack({{"cache_put", "/src/cache.cpp", 12}, {"main", "/src/main.cpp", 10}},
                sample::booked(100, 6400, 0, 0, 6400));
  auto& p = builder.edit();
  p.process.command = {"./server", "my file"};
  p.process.pid = 12;
  p.process.ended = ending::running;
  leak_info watch;
  watch.since_realtime_ns = 1'700'000'000'000'000'000;
  watch.duration_ns = 90'000'000'000;
  watch.watched = 45;
  watch.acquitted = 3;
  watch.taken_back = 1;
  watch.losses["refused_room"] = 2;
  watch.entries = {{.stack = 1,
                    .verdict = "leak",
                    .witnesses = {"stale", "unreachable"},
                    .bytes = 64000,
                    .bytes_low = 57000,
                    .bytes_high = 64000,
                    .bytes_per_hour = 2'560'000,
                    .blocks = 1000,
                    .oldest_age_ns = 80'000'000'000,
                    .sampled = 30,
                    .untouched = 30,
                    .least_bytes = 64,
                    .most_bytes = 64},
                   {.stack = 2,
                    .verdict = "retention",
                    .witnesses = {},
                    .bytes = 6400,
                    .bytes_high = 6400,
                    .blocks = 100,
                    .sampled = 15}};
  watch.reachability = reachability_info{45, 30, 2'000'000, 1 << 20, {}};
  p.leaks = watch;
  return builder.build();
}

TEST(report_leaks, what_has_shrunk_again_is_not_said_to_grow) {
  auto p = watched_server();
  p.leaks->entries[1].bytes = 0;
  p.leaks->entries[1].blocks = 0;
  p.leaks->entries.push_back(p.leaks->entries[1]);
  p.leaks->entries.back().verdict = "suspect";
  const auto text = leaks_text(p, p.leaks->entries, {});
  EXPECT_EQ(text.find("Grows"), std::string::npos) << text;
  EXPECT_EQ(text.find("0 B"), std::string::npos) << text;
}

TEST(report_leaks, sums_of_hostile_sizes_end_at_the_largest_number) {
  auto p = watched_server();
  p.leaks->entries[0].bytes = p.leaks->entries[0].bytes_per_hour = std::int64_t{1} << 59;
  p.leaks->entries.resize(1);
  p.leaks->entries.resize(40, p.leaks->entries[0]);
  EXPECT_NE(leaks_text(p, p.leaks->entries, {}).find("LEAKS at 40 places: about 8.0 EiB so far"), std::string::npos)
      << leaks_text(p, p.leaks->entries, {}).substr(0, 400);
}

TEST(report_leaks, chunks_of_a_pool_have_its_name_and_their_place) {
  auto p = watched_server();
  p.pools = {{.name = "requests"}};
  p.leaks->entries = {
      {.verdict = "leak", .witnesses = {"stale"}, .bytes = 480, .blocks = 10, .pool = 0, .node = p.stacks[1].node}};
  const auto report = nlohmann::json::parse(leaks_json(p, p.leaks->entries, 0));
  const auto& leak = report["leaks"][0];
  EXPECT_EQ(leak["pool"], "requests");
  EXPECT_FALSE(leak.contains("stack"));
  EXPECT_EQ(leak["frames"][0]["function"], "cache_put");
  const auto text = leaks_text(p, p.leaks->entries, {});
  EXPECT_NE(text.find("chunks of the pool requests"), std::string::npos) << text;
  EXPECT_NE(text.find("cache_put"), std::string::npos) << text;
}

TEST(report_leaks, json_has_every_promised_key) {
  const auto p = watched_server();
  const auto report = nlohmann::json::parse(leaks_json(p, p.leaks->entries, 1));
  EXPECT_EQ(report["format"], "heapledger-leaks");
  EXPECT_EQ(report["version"], 1);
  EXPECT_EQ(report["watching_since"], 1'700'000'000);
  EXPECT_EQ(report["duration"], 90);
  EXPECT_EQ(report["acquitted"], 3);
  EXPECT_EQ(report["watched"], 45);
  EXPECT_EQ(report["losses"]["refused_room"], 2);
  const auto& leak = report["leaks"][0];
  for (const char* key : {"stack", "verdict", "witnesses", "bytes", "bytes_low", "bytes_high", "bytes_per_hour",
                          "blocks", "oldest_age", "sampled", "frames"})
    EXPECT_TRUE(leak.contains(key)) << key;
  EXPECT_EQ(leak["frames"][1]["function"], "remember");
  EXPECT_EQ(leak["oldest_age"], 80);
  // No made-up number where nothing is known.
  EXPECT_FALSE(report["leaks"][1].contains("oldest_age"));
}

TEST(report_leaks, text_says_what_a_reader_needs) {
  const auto p = watched_server();
  const auto text = leaks_text(p, p.leaks->entries, {});
  for (const char* words :
       {"./server 'my file'", "LEAKS at 1 place: about 62.5 KiB so far, 2.4 MiB an hour",
        "  1. 62.5 KiB lost (55.7 KiB to 62.5 KiB), 2.4 MiB an hour", "1,000 blocks of 64 B",
        "30 of 30 watched blocks untouched", "nothing points to them", "remember", "src/session.cpp:40",
        "Grows, but is used (retention)", "cache_put", "3 places acquitted; 1 verdict taken back"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  EXPECT_EQ(text.find("\n     malloc"), std::string::npos) << text;
  EXPECT_NE(text.find("via malloc"), std::string::npos) << "two stacks of a line may differ in nothing else\n" << text;
  for (std::size_t at = 0; at < text.size();) {
    const auto end = text.find('\n', at);
    EXPECT_LE(end - at, 100U) << text.substr(at, end - at);
    at = end + 1;
  }
}

// What only a lost object points to is as lost, and no list that grows.
TEST(report_leaks, a_pointer_to_a_block_need_not_be_the_program_s) {
  auto p = watched_server();
  p.leaks->entries[0].witnesses = {"stale", "reachable"};
  const auto text = leaks_text(p, p.leaks->entries, {});
  EXPECT_NE(text.find("something still points to them, if only other lost blocks"), std::string::npos) << text;
}

TEST(report_leaks, what_was_freed_at_the_end_is_said_to_be) {
  auto p = watched_server();
  p.leaks->entries[0].verdict = "retention";
  p.leaks->entries[0].witnesses = {"freed"};
  const auto text = leaks_text(p, p.leaks->entries, {});
  for (const char* words : {"No leak found", "Grew, untouched, and was freed when the program ended",
                            "  1. about 62.5 KiB (55.7 KiB to 62.5 KiB), in about 1,000 blocks of 64 B",
                            "30 of 30 watched blocks untouched, the oldest for 1 min 20 s until then"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  const auto used = text.find("Grows, but is used (retention)");
  EXPECT_LT(text.find("remember"), used) << text;
  EXPECT_GT(text.find("cache_put"), used) << text;
}

TEST(report_leaks, a_watch_that_told_nothing_is_said_to_be) {
  auto p = watched_server();
  p.leaks = leak_info{};
  p.leaks->obstacle = "Nothing was watched: too short to tell.";
  const auto text = leaks_text(p, {}, {});
  EXPECT_NE(text.find("too short to tell"), std::string::npos) << text;
  EXPECT_NE(text.find("No leak found, for nothing was watched"), std::string::npos) << text;
  leaks_text_options of_file;
  of_file.file = "a.hlp";
  EXPECT_NE(leaks_text(p, {}, of_file).find("heapledger report --by live a.hlp"), std::string::npos);
}

TEST(report_leaks, says_how_to_have_a_watch_where_there_was_none) {
  auto p = watched_server();
  p.leaks.reset();
  const auto text = leaks_text(p, {}, {});
  for (const char* words : {"heapledger run --leaks", "heapledger start PID", "heapledger leaks PID"})
    EXPECT_NE(text.find(words), std::string::npos) << text;
  leaks_text_options of_file;
  of_file.file = "a.hlp";
  EXPECT_NE(leaks_text(p, {}, of_file).find("heapledger report --by live a.hlp"), std::string::npos);
  const auto report = nlohmann::json::parse(leaks_json(p, {}, 0));
  EXPECT_TRUE(report["leaks"].empty());
  EXPECT_EQ(report["obstacle"], "the profile has no leak watch");  // must not look like no leak
}

}  // namespace
}  // namespace heapledger::report

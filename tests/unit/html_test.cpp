#include "tool/html/html.hpp"

#include <gtest/gtest.h>

#include <string>

#include "full_profile.hpp"
#include "hostile_profile.hpp"
#include "tool/analyse/snapshots.hpp"
#include "tool/html/data.hpp"
#include "tool/report/loss_words.hpp"
#include "tool/report/text.hpp"

namespace heapledger::html {
namespace {

// The page around its data.
std::string frame_of(const std::string& page) {
  constexpr std::string_view opening = "id=\"data\">";
  const std::size_t begin = page.find(opening) + opening.size();
  const std::size_t end = page.find("</script>", begin);
  EXPECT_EQ(page.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=", begin), end);
  return page.substr(0, begin) + page.substr(end);
}

class html_page_test : public ::testing::Test {
 protected:
  void SetUp() override {
    if (page_shell().empty()) GTEST_SKIP() << page_shell_missing();
  }
};

// What comes from a profile is nowhere but in the data, which is base64: no name can become markup.
TEST_F(html_page_test, is_the_same_around_the_data_whatever_the_profile_says) {
  const std::string plain = frame_of(html_page(full_profile()));
  EXPECT_EQ(frame_of(html_page(hostile_profile())), plain);
  EXPECT_EQ(frame_of(html_page(sample::profile_builder().build())), plain);
}

TEST_F(html_page_test, names_no_address) {
  const std::string frame = frame_of(html_page(full_profile()));
  for (const char* word : {"http:", "https:", "src=", "@import", "url("}) {
    EXPECT_EQ(frame.find(word), std::string::npos) << word;
  }
  EXPECT_NE(frame.find("default-src 'none'"), std::string::npos);
}

TEST(html_data, says_whether_its_numbers_are_exact) {
  profile p = full_profile();
  EXPECT_NE(page_data(p).find("\"exact\":true"), std::string::npos);
  p.stacks[0].count.allocated_bytes = std::uint64_t{1} << 53;
  EXPECT_NE(page_data(p).find("\"exact\":false"), std::string::npos);
}

TEST(html_data, holds_what_the_largest_places_held_over_time) {
  profile p = full_profile();
  p.stack_timeline.clear();
  EXPECT_NE(page_data(p).find(R"("places":{"time":[],"lines":[]})"), std::string::npos);
  for (std::int64_t i = 1; i < 5; ++i) p.stack_timeline.push_back({0, i * 250'000'000, 4096 * i});
  const std::string data = page_data(p);
  EXPECT_NE(data.find(R"("places":{"time":[0.25,0.5,0.75,1.0],"lines":[{)"), std::string::npos);
  EXPECT_NE(data.find(R"("live":[4096,8192,12288,16384])"), std::string::npos);
}

TEST(html_data, of_two_profiles_holds_what_places_of_the_newer_held_over_time) {
  profile after = full_profile();
  after.stack_timeline.clear();
  for (std::int64_t i = 1; i < 5; ++i) after.stack_timeline.push_back({0, i * 250'000'000, 4096 * i});
  const std::string data = page_data(full_profile(), after);
  EXPECT_NE(data.find(R"("places":{"time":[0.25,0.5,0.75,1.0],"lines":[{)"), std::string::npos);
}

TEST(html_data, tells_instances_of_a_template_on_one_line_apart) {
  sample::profile_builder builder;
  for (const std::string of : {"user", "order"})
    builder.stack({{"a_table_with_a_very_long_name<a_type_of_records::" + of + ">::insert()", "table.hpp", 7}},
                  sample::booked(1, 1, 0, 0, 1));
  profile& p = builder.edit();
  for (std::uint32_t stack = 0; stack < 2; ++stack)
    for (std::int64_t i = 1; i < 5; ++i) p.stack_timeline.push_back({stack, i, 4096 + stack});
  const std::string data = page_data(p);
  EXPECT_NE(data.find(R"("name":"...::insert [user]")"), std::string::npos);
  EXPECT_NE(data.find(R"("name":"...::insert [order]")"), std::string::npos);
}

// In one module most bytes, in the other most places.
profile two_modules_without_names() {
  sample::profile_builder builder;
  builder.stack({{"", "", 0, "/bin/large"}}, sample::booked(1, 90, 0, 0, 90));
  builder.stack({{"", "", 0, "/bin/many"}}, sample::booked(1, 10, 0, 0, 10));
  profile& p = builder.edit();
  const location nameless = p.locations.back();
  p.locations.resize(p.locations.size() + 1233, nameless);
  return p;
}

TEST(html_data, names_the_module_that_lacks_names_of_most_bytes_as_the_report_does) {
  EXPECT_NE(page_data(two_modules_without_names())
                .find("\"nameless\":\"100 % of the bytes at the peak belong to functions without a name, "
                      "most of them in large."),
            std::string::npos);
}

TEST(html_data, holds_the_totals_of_the_report) {
  const profile p = full_profile();
  const std::string data = page_data(p);
  EXPECT_NE(data.find("\"live_bytes\":" + std::to_string(p.totals().live_bytes()) + ","), std::string::npos);
  EXPECT_NE(data.find("\"peak_bytes\":" + std::to_string(p.totals().peak_bytes) + ","), std::string::npos);
}

TEST(html_data, counts_places_without_names_as_the_report_does) {
  const std::string data = page_data(two_modules_without_names());
  EXPECT_NE(data.find("large: 1 of 1 place without a function name"), std::string::npos);
  EXPECT_NE(data.find("many: 1,234 of 1,234 places without a function name"), std::string::npos);
}

TEST(html_data, says_what_the_report_says_where_nothing_was_seen) {
  profile p = full_profile();
  EXPECT_EQ(page_data(p).find("Not one allocation"), std::string::npos);
  p.stacks.clear();
  EXPECT_NE(page_data(p).find("\"losses\":[\"Not one allocation was seen."), std::string::npos);
}

TEST(html_data, says_how_it_was_recorded_where_that_changes_what_its_numbers_mean) {
  profile p = full_profile();
  EXPECT_NE(page_data(p).find("It is a fork of pid 4710: what that had allocated before is not in"), std::string::npos);
  EXPECT_NE(page_data(p).find("SIGKILL comes from"), std::string::npos);
  p.process = {};
  EXPECT_NE(page_data(p).find("\"notes\":[]"), std::string::npos);
  p.process.attached_after_ns = 1;
  p.process.stacks = "fp";
  EXPECT_NE(page_data(p).find("\"notes\":[\"What it had allocated before is not in these numbers"), std::string::npos);
  EXPECT_NE(page_data(p).find("code built without frame pointers is missing"), std::string::npos);
}

TEST(html_data, adds_up_errors_of_a_kind) {
  profile p = full_profile();
  p.errors = {{"overflow", 1, 2}, {"overflow", 3, 3}};
  const std::string data = page_data(p);
  EXPECT_NE(data.find("\"error_kinds\":[\"" + report::error_text("overflow", 5) + "\"]"), std::string::npos);
  EXPECT_NE(data.find("\"errors\":[\"" + report::error_text("overflow", 2) + "\",\""), std::string::npos);
}

TEST(html_data, of_a_snapshot_says_that_it_is_one) {
  const profile p = analyse::profile_at(full_profile(), 2);
  EXPECT_NE(page_data(p).find("\"ending\":\"as it was at the snapshot 'warm'\""), std::string::npos);
  EXPECT_NE(report::text_report(p, {}).find("as it was at the snapshot 'warm'"), std::string::npos);
}

TEST(html_data, says_what_resident_memory_is_where_malloc_has_little_of_it) {
  profile p = full_profile();
  p.memory = memory_map{.rss_bytes = 1000, .live_bytes = 1, .allocator_bytes = 500};
  EXPECT_NE(page_data(p).find("500 B of 1000 B of resident memory at 0.00 ms are in no live block"), std::string::npos);
  p.memory = memory_map{.rss_bytes = 1000, .live_bytes = 900, .mapped_bytes = 400};
  EXPECT_NE(page_data(p).find("\"resident\":[\"400 B of 1000 B of resident memory are not malloc's"),
            std::string::npos);
  p.memory = memory_map{.rss_bytes = 1000, .live_bytes = 900};
  EXPECT_NE(page_data(p).find("\"resident\":[]"), std::string::npos);
}

}  // namespace
}  // namespace heapledger::html

// The screen without a terminal: lines of text, and what keys do to them.
#include <gtest/gtest.h>

#include <algorithm>

#include "report_sample.hpp"
#include "tool/live/screen.hpp"
#include "tool/live/source.hpp"
#include "tool/live/table.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::live {
namespace {

// A program whose next samples are given.
class scripted : public source {
 public:
  scripted() {
    process_.pid = 4711;
    process_.command = {"server", "--fast"};
  }

  // Of a function of its own below main.
  void add(const std::string& function, std::int64_t live, std::uint64_t allocations, double growth = 0) {
    const heapledger::sample::sample_frame main{"main", "main.cpp", 9};
    row made;
    made.id = names_.stack({{function, "work.cpp", 7}, main}, {});
    made.count = {
        .allocations = allocations, .allocated_bytes = static_cast<std::uint64_t>(live), .peak_bytes = 2 * live};
    made.rate = {growth, static_cast<double>(allocations)};
    next.totals += made.count;
    next.stacks.push_back(made);
  }

  const process_info& process() const override { return process_; }
  const live::sample& take() override {
    ++taken;
    return last_ = next;
  }
  const profile& describe(subject, std::span<const std::uint32_t> stacks) override {
    shown_ = names_.build();
    shown_.stacks.clear();
    for (const auto index : stacks) shown_.stacks.push_back(names_.build().stacks[last_.stacks[index].id]);
    return shown_;
  }

  live::sample next;
  int taken = 0;
  process_info process_;

 private:
  heapledger::sample::profile_builder names_;
  live::sample last_;
  profile shown_;
};

class live_screen : public ::testing::Test {
 protected:
  live_screen() {
    program.add("index", 4096, 10, 1);
    program.add("cache", 1 << 20, 2, -5);
    program.add("log", 512, 900, 300);
  }

  std::vector<std::string> lines(screen& view, std::size_t count = 20, std::size_t columns = 100) {
    std::vector<std::string> result;
    for (const auto& line : view.draw(count, columns)) {
      EXPECT_LE(report::columns(line.text), columns);
      result.push_back(line.text);
    }
    EXPECT_EQ(result.size(), count);
    return result;
  }
  // The functions in the order shown.
  std::vector<std::string> order_of(screen& view) {
    std::vector<std::string> found;
    for (const auto& line : lines(view))
      for (const char* name : {"index", "cache", "log"})
        if (line.find(std::string("  ") + name + " < main") != std::string::npos) found.emplace_back(name);
    return found;
  }
  std::string selected(screen& view) {
    for (const auto& line : view.draw(20, 100))
      if (line.how == look::selected) return line.text;
    return {};
  }
  bool shows(screen& view, const std::string& text) {
    const auto all = lines(view);
    return std::any_of(all.begin(), all.end(), [&](const auto& line) { return line.find(text) != std::string::npos; });
  }

  using names = std::vector<std::string>;
  scripted program;
};

TEST_F(live_screen, orders_by_each_key) {
  program.next.rate = per_second{};
  screen view(program, order::live, subject::stack, true);
  EXPECT_EQ(order_of(view), (names{"cache", "index", "log"}));
  view.type('g');
  EXPECT_EQ(order_of(view), (names{"log", "index", "cache"}));
  view.type('c');
  EXPECT_EQ(order_of(view), (names{"log", "index", "cache"}));
  view.type('m');
  EXPECT_EQ(order_of(view), (names{"cache", "index", "log"}));
  EXPECT_TRUE(shows(view, "*PEAK"));
  EXPECT_TRUE(shows(view, "4711 server --fast"));
}

TEST_F(live_screen, says_when_it_was_attached) {
  program.next.time_ns = 12'000'000'000;
  screen started(program, order::live, subject::stack, true);
  EXPECT_TRUE(lines(started).front().ends_with(" 12.00 s")) << lines(started).front();
  program.process_.attached_after_ns = 530'000'000;
  screen attached(program, order::live, subject::stack, true);
  EXPECT_TRUE(lines(attached).front().ends_with(" 12.00 s, attached 0.53 s after its start"))
      << lines(attached).front();
}

TEST_F(live_screen, has_no_rates_before_the_second_sample) {
  screen view(program, order::live, subject::stack, true);
  EXPECT_TRUE(shows(view, "          -          -"));
  program.next.rate = per_second{};
  view.take();
  EXPECT_FALSE(shows(view, "          -          -"));
}

TEST_F(live_screen, the_bar_stays_on_its_stack) {
  screen view(program, order::live, subject::stack, true);
  lines(view);
  view.press(key::down);
  EXPECT_NE(selected(view).find("index"), std::string::npos);
  program.next.stacks[0].count.allocated_bytes = 2 << 20;  // it is the largest now
  view.take();
  EXPECT_EQ(order_of(view).front(), "index");
  EXPECT_NE(selected(view).find("index"), std::string::npos);
  view.press(key::end);
  EXPECT_NE(selected(view).find("log"), std::string::npos);
  view.press(key::down);
  EXPECT_NE(selected(view).find("log"), std::string::npos);
}

TEST_F(live_screen, a_pause_keeps_what_is_shown) {
  screen view(program, order::live, subject::stack, true);
  view.type('p');
  program.next.totals.allocated_bytes = 7 << 20;
  view.take();
  EXPECT_EQ(program.taken, 1);
  EXPECT_TRUE(shows(view, "paused"));
  view.type(' ');
  view.take();
  EXPECT_TRUE(shows(view, "7.0 MiB"));
}

TEST_F(live_screen, unfolds_and_folds_a_stack) {
  screen view(program, order::live, subject::stack, true);
  lines(view);
  view.press(key::enter);
  EXPECT_TRUE(shows(view, "work.cpp:7"));
  view.press(key::enter);
  EXPECT_FALSE(shows(view, "work.cpp:7"));
}

TEST_F(live_screen, searches_by_name) {
  screen view(program, order::live, subject::stack, true);
  for (const char letter : std::string("/CACHX")) view.type(letter);
  view.press(key::erase);
  view.press(key::enter);
  EXPECT_EQ(order_of(view), names{"cache"});
  view.press(key::escape);
  EXPECT_EQ(order_of(view).size(), 3U);
  for (const char letter : std::string("/nowhere")) view.type(letter);
  view.press(key::enter);
  EXPECT_TRUE(shows(view, "nothing here has that in a name"));
}

TEST_F(live_screen, every_view_has_a_tab_and_a_key) {
  program.next.threads = {
      {.id = 1, .name = "\x1b[2Jworker\n", .count = {.allocations = 1, .allocated_bytes = 8}, .rate = {}}};
  screen view(program, order::peak, subject::stack, true);
  for (const auto& each : views()) {
    view.type(each.key);
    EXPECT_TRUE(shows(view, std::string("[") + each.tab + "]"));
    const bool has_rows = !rows_of(program.next, static_cast<subject>(&each - views().data())).empty();
    EXPECT_TRUE(has_rows || shows(view, each.empty));
  }
  view.type('2');
  EXPECT_TRUE(shows(view, "*LIVE"));  // threads have no peak to go by
  EXPECT_TRUE(shows(view, "\\x1b[2Jworker\\x0a"));
  for (std::size_t i = 0; i < views().size(); ++i) view.press(key::tab);
  EXPECT_TRUE(shows(view, "[threads]"));
}

TEST_F(live_screen, fits_every_terminal) {
  program.add("\xe8\xa8\x98\xe6\x86\xb6\xe9\xa0\x98\xe5\x9f\x9f\xe8\xa8\x98\xe6\x86\xb6\xe9\xa0\x98\xe5\x9f\x9f",
              9 << 20, 1);
  screen view(program, order::live, subject::stack, true);
  view.take();
  for (std::size_t count = 1; count < 14; ++count)
    for (std::size_t columns = 1; columns < 120; columns += 3) lines(view, count, columns);
}

TEST_F(live_screen, says_how_it_ended) {
  program.next.state = watched::other_image;
  screen view(program, order::live, subject::stack, true);
  EXPECT_TRUE(view.has_ended());
  EXPECT_TRUE(shows(view, "went on as another program"));
  EXPECT_FALSE(view.type('q'));
}

TEST_F(live_screen, unfolds_rows_of_one_view_only) {
  program.next.mapped = program.next.stacks;
  for (auto& row : program.next.mapped) row.name = "file";
  screen view(program, order::live, subject::stack, true);
  EXPECT_FALSE(shows(view, "main.cpp"));
  view.press(key::enter);
  EXPECT_TRUE(shows(view, "main.cpp"));
  view.type('5');
  EXPECT_FALSE(shows(view, "main.cpp"));
  EXPECT_TRUE(shows(view, "(file) cache < main"));
  view.type('w');  // no leak is looked for there
  EXPECT_TRUE(shows(view, "*MAPPED"));
  view.press(key::enter);
  EXPECT_TRUE(shows(view, "main.cpp"));
  view.type('1');
  EXPECT_TRUE(shows(view, "main.cpp"));
}

TEST(live_table, leaves_out_the_least_column_first) {
  const auto& stacks = view_of(subject::stack);
  sample running;
  running.rate = per_second{};
  EXPECT_EQ(table(stacks, order::peak, running, 100).heading().find("*PEAK") == std::string::npos, false);
  const auto narrow = table(stacks, order::churn, running, 46).heading();
  EXPECT_NE(narrow.find("*ALLOCS/s"), std::string::npos);
  EXPECT_NE(narrow.find("LIVE"), std::string::npos);
  EXPECT_EQ(narrow.find("PEAK"), std::string::npos);
  EXPECT_EQ(narrow.find("BLOCKS"), std::string::npos);
}

TEST(live_table, has_no_rates_of_what_has_ended_before_any_is_known) {
  const auto& stacks = view_of(subject::stack);
  sample only;
  EXPECT_NE(table(stacks, order::live, only, 80).heading().find("GROWTH/s"), std::string::npos) << "they will come";
  const auto room = table(stacks, order::live, only, 80).where_width();
  only.state = watched::ended;
  const table ended(stacks, order::live, only, 80);
  EXPECT_EQ(ended.heading().find("/s"), std::string::npos);
  EXPECT_GT(ended.where_width(), room + 20);
  EXPECT_NE(table(stacks, order::growth, only, 80).heading().find("*GROWTH/s"), std::string::npos);
}

}  // namespace
}  // namespace heapledger::live

#include <gtest/gtest.h>

#include "tool/report/grid.hpp"

namespace heapledger::report {
namespace {

grid table(std::string name, std::string number) {
  grid result({{"name", 12, cell::name}, {"live", 10}, {"peak", 10}, {"", 0, cell::words}});
  result.add({std::move(name), std::move(number), "7 B", "all"});
  return result;
}

TEST(report_grid, columns_are_as_wide_as_asked_for_where_there_is_room) {
  auto rows = table("worker", "1 B");
  rows.fit(80);
  EXPECT_EQ(rows.head(), "  name              live      peak     ");
  EXPECT_EQ(rows.line(0), "  worker             1 B       7 B  all");
}

TEST(report_grid, a_narrow_page_has_columns_as_wide_as_what_is_in_them) {
  auto rows = table("worker", "123,456");
  rows.fit(30);
  EXPECT_EQ(rows.head(), "  name       live  peak     ");
  EXPECT_EQ(rows.line(0), "  worker  123,456   7 B  all");
}

TEST(report_grid, names_are_cut_and_numbers_never) {
  auto rows = table("a_rather_long_name", "123,456,789,123");
  rows.fit(40);
  EXPECT_EQ(rows.line(0), "  a_rathe...  123,456,789,123   7 B  all");
  rows.fit(20);
  EXPECT_EQ(rows.line(0), "  a_rathe...  123,456,789,123   7 B  all");
}

TEST(report_grid, a_number_that_is_wider_than_its_column_moves_no_other) {
  auto rows = table("worker", "123,456,789,123");
  rows.add({"other", "1 B", "7 B", "all"});
  rows.fit(80);
  EXPECT_EQ(rows.line(0), "  worker       123,456,789,123       7 B  all");
  EXPECT_EQ(rows.line(1), "  other                    1 B       7 B  all");
}

TEST(report_grid, other_alphabets_take_their_columns) {
  auto rows = table("имя", "1 B");
  rows.fit(80);
  EXPECT_EQ(rows.line(0), "  имя                1 B       7 B  all");
}

}  // namespace
}  // namespace heapledger::report

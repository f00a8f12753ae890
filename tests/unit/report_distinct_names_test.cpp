#include "tool/report/distinct_names.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report_sample.hpp"
#include "tool/report/text.hpp"

namespace heapledger::report {
namespace {

using names = std::vector<std::string>;

TEST(differing_parts, are_whole_words) {
  EXPECT_EQ(differing_parts({"table<ns::user_record>::add", "table<ns::order_record>::add"}),
            (names{"user_record", "order_record"}));
  EXPECT_EQ(differing_parts({"f<int>", "f<int, int>", "f<long>"}), (names{"int", "int, int", "long"}));
  EXPECT_EQ(differing_parts({"f<a, list<a>>::g", "f<b, list<b>>::g"}), (names{"a", "b"}));
  EXPECT_EQ(differing_parts({"f<g<a, b>, c>", "f<g<a, d>, e>"}), (names{"b", "d"}));
}

TEST(differing_parts, are_nothing_where_names_are_the_same) {
  EXPECT_EQ(differing_parts({"f", "f"}), (names{"", ""}));
  EXPECT_EQ(differing_parts({"f"}), (names{""}));
  EXPECT_EQ(differing_parts({}), (names{}));
}

TEST(differing_parts, are_something_of_names_that_do_not_close_what_they_open) {
  EXPECT_EQ(differing_parts({"f<a<", "f<<b"}), (names{"a<", "<b"}));
  EXPECT_EQ(differing_parts({"", "f"}), (names{"", "f"}));
}

TEST(report_text, tells_instances_of_a_template_on_one_line_apart) {
  sample::profile_builder builder;
  const std::string table = "a_table_with_a_name_as_long_as_half_a_line<a_type_of_records::";
  builder.stack({{table + "user>::insert()", "table.hpp", 7}, {"main", "a.cpp", 1}}, sample::booked(1, 60, 0, 0, 60));
  builder.stack({{table + "order>::insert()", "table.hpp", 7}, {"main", "a.cpp", 1}}, sample::booked(1, 40, 0, 0, 40));
  builder.stack({{"other()", "table.hpp", 7}, {"main", "a.cpp", 1}}, sample::booked(1, 40, 0, 0, 40));
  const std::string text = text_report(builder.build(), {});
  EXPECT_NE(text.find("...::insert [user] "), std::string::npos) << text;
  EXPECT_NE(text.find("...::insert [order] "), std::string::npos) << text;
  EXPECT_NE(text.find(" other  "), std::string::npos) << text;
}

}  // namespace
}  // namespace heapledger::report

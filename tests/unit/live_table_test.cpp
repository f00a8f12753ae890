// The words of a row of the live view.
#include <gtest/gtest.h>

#include "report_sample.hpp"
#include "tool/live/table.hpp"

namespace heapledger::live {
namespace {

using heapledger::sample::profile_builder;
using texts = std::vector<std::string>;

TEST(live_table, rows_that_would_look_the_same_have_the_line_in_which_they_differ) {
  profile_builder builder;
  builder.stack({{"load", "a.cpp", 7}, {"main", "a.cpp", 90}}, {});
  builder.stack({{"load", "a.cpp", 12}, {"main", "a.cpp", 90}}, {});
  builder.stack({{"store", "a.cpp", 30}, {"main", "a.cpp", 91}}, {});
  builder.stack({{"store", "a.cpp", 30}, {"main", "a.cpp", 95}}, {});
  builder.stack({{"store", "a.cpp", 30}, {"run", "a.cpp", 50}}, {});
  builder.stack({}, {});
  EXPECT_EQ(where_texts(builder.build(), 80), (texts{"load:7 < main", "load:12 < main", "store < main:91",
                                                     "store < main:95", "store < run", "(no stack)"}));
}

TEST(live_table, machinery_between_the_program_s_functions_is_left_out) {
  const heapledger::sample::sample_frame push_back = {"std::vector<order>::push_back",
                                                      "/usr/include/c++/12/bits/stl_vector.h", 9};
  profile_builder builder;
  builder.stack({{"order::order", "a.cpp", 7}, push_back, {"serve", "a.cpp", 80}}, {});
  builder.stack({push_back}, {});
  EXPECT_EQ(where_texts(builder.build(), 80), (texts{"order::order < serve", "std::vector<order>::push_back"}));
}

TEST(live_table, rows_of_the_same_line_have_what_allocates_for_them) {
  const auto container = [](const char* name) {
    return heapledger::sample::sample_frame{name, "/usr/include/c++/12/bits/stl_map.h", 9};
  };
  profile_builder builder;
  builder.stack({container("std::map<int>::operator[]"), {"put", "a.cpp", 7}, {"main", "a.cpp", 90}}, {});
  builder.stack({container("std::make_unique<order>"), {"put", "a.cpp", 7}, {"main", "a.cpp", 90}}, {});
  builder.stack({{"put", "a.cpp", 7}, {"main", "a.cpp", 90}}, {});
  EXPECT_EQ(where_texts(builder.build(), 80), (texts{"put via std::map<int>::operator[] < main",
                                                     "put via std::make_unique<order> < main", "put < main"}));
}

TEST(live_table, a_line_that_is_not_known_is_left_out) {
  profile_builder builder;
  builder.stack({{"load", "a.cpp", 7}, {"main", "a.cpp", 90}}, {});
  builder.stack({{"load", "", 0}, {"main", "a.cpp", 90}}, {});
  EXPECT_EQ(where_texts(builder.build(), 80), (texts{"load:7 < main", "load < main"}));
}

TEST(live_table, words_are_cut_to_the_width) {
  profile_builder builder;
  builder.stack({{"load", "a.cpp", 7}, {"a_caller_with_a_long_name", "a.cpp", 80}, {"main", "a.cpp", 90}}, {});
  builder.stack({{"load", "a.cpp", 8}, {"a_caller_with_another_name", "a.cpp", 81}, {"main", "a.cpp", 90}}, {});
  for (const auto& text : where_texts(builder.build(), 12)) EXPECT_LE(text.size(), 14U) << text;
  EXPECT_NE(where_texts(builder.build(), 12)[0], where_texts(builder.build(), 12)[1]);
}

}  // namespace
}  // namespace heapledger::live

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "report_sample.hpp"
#include "tool/report/diff_text.hpp"

namespace heapledger::report {
namespace {

using sample::booked;
using sample::profile_builder;
using sample::sample_frame;

std::string growth_of(const std::vector<sample_frame>& frames) {
  profile_builder before;
  before.stack(frames, booked(1, 1, 0, 0, 1));
  profile_builder after;
  after.stack(frames, booked(1, 2, 0, 0, 2));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  return diff_text(diff::comparison(old_profile, new_profile), {}, {});
}

TEST(report_diff, rusts_own_frames_are_left_out_between_those_of_the_program) {
  const std::string text = growth_of({{"<alloc::alloc::Global>::alloc_impl"},
                                      {"app::read"},
                                      {"core::ops::function::FnOnce::call_once"},
                                      {"app::main"},
                                      {"core::ops::function::FnOnce::call_once"},
                                      {"main"}});
  EXPECT_NE(text.find("     app::read "), std::string::npos) << text;
  EXPECT_NE(text.find("       app::main "), std::string::npos) << text;
  EXPECT_EQ(text.find("call_once"), std::string::npos) << text;
  EXPECT_EQ(text.find("alloc_impl"), std::string::npos) << text;
}

TEST(report_diff, a_recursion_is_of_the_frames_that_are_shown) {
  std::vector<sample_frame> frames = {{"app::leaf"}};
  for (int i = 0; i < 5; ++i) {
    frames.insert(frames.end(), {{"app::walk"},
                                 {"core::iter::traits::iterator::Iterator::for_each"},
                                 {"app::step"},
                                 {"core::ops::function::FnOnce::call_once"}});
  }
  frames.push_back({"main"});
  const std::string text = growth_of(frames);
  EXPECT_NE(text.find("app::step (the 2 above x5)"), std::string::npos) << text;
  EXPECT_EQ(text.find("for_each"), std::string::npos) << text;
}

TEST(report_diff, tells_instances_of_a_template_on_one_line_apart) {
  const std::string table = "a_table_with_a_name_as_long_as_half_a_line<a_type_of_records::";
  const sample_frame user{table + "user>::insert()", "table.hpp", 7}, order{table + "order>::insert()", "table.hpp", 7};
  profile_builder before, after;
  for (const auto& frame : {user, order}) {
    before.stack({frame, {"main", "a.cpp", 1}}, booked(1, 1, 0, 0, 1));
    after.stack({frame, {"main", "a.cpp", 1}}, booked(1, 2, 0, 0, 2));
  }
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const std::string text = diff_text(diff::comparison(old_profile, new_profile), {}, {});
  EXPECT_NE(text.find("...::insert [user] "), std::string::npos) << text;
  EXPECT_NE(text.find("...::insert [order] "), std::string::npos) << text;
}

TEST(report_diff, a_stack_of_nothing_but_rust_is_shown_as_it_is) {
  const std::string text = growth_of({{"std::rt::init"}, {"std::rt::lang_start_internal"}});
  EXPECT_NE(text.find("std::rt::init"), std::string::npos) << text;
  EXPECT_NE(text.find("std::rt::lang_start_internal"), std::string::npos) << text;
}

}  // namespace
}  // namespace heapledger::report

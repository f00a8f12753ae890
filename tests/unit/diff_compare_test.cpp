#include "tool/diff/compare.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "report_sample.hpp"
#include "tool/diff/identity.hpp"
#include "tool/diff/rank.hpp"

namespace heapledger::diff {
namespace {

using sample::booked;
using sample::profile_builder;
using sample::sample_frame;

const stack_change* with_innermost(const comparison& compared, std::string_view function) {
  for (const auto& change : compared.stacks()) {
    const auto frames = compared.frames_of(change);
    if (!frames.empty() && compared.frames()[frames[0].frame].function == function) return &change;
  }
  return nullptr;
}

TEST(diff_identity, copies_of_a_function_are_the_function) {
  EXPECT_EQ(same_function("f(int) [clone .isra.0]"), "f(int)");
  EXPECT_EQ(same_function("f(int) [clone .part.0] [clone .cold]"), "f(int)");
  EXPECT_EQ(same_function("read_table.constprop.0.cold"), "read_table");
  EXPECT_EQ(same_function("read_table.llvm.8123"), "read_table");
  EXPECT_EQ(same_function("read.partly"), "read.partly");
  EXPECT_EQ(same_function(".cold"), ".cold");
  EXPECT_EQ(same_function("f(int, ...)"), "f(int, ...)");
}

TEST(diff_identity, generated_code_is_known_without_folders_and_lines) {
  EXPECT_EQ(same_generated_function("py::load:/build/41/app.py"), "py::load:app.py");
  EXPECT_EQ(same_generated_function("py::load:app.py"), "py::load:app.py");
  EXPECT_EQ(same_generated_function("py::<module>:/usr/lib/json/__init__.py"), "py::<module>:json/__init__.py");
  EXPECT_EQ(same_generated_function("py::<module>:__init__.py"), "py::<module>:__init__.py");
  EXPECT_EQ(same_generated_function("py::f:<frozen importlib._bootstrap>"), "py::f:<frozen importlib._bootstrap>");
  EXPECT_EQ(same_generated_function("JS:*make /build/41/a b.js:1:12"), "JS:make a b.js");
  EXPECT_EQ(same_generated_function("LazyCompile:~make file:///srv/a.js:100:1"), "JS:make a.js");
  EXPECT_EQ(same_generated_function("JS:^ /srv/a.js"), "JS: a.js");
  EXPECT_EQ(same_generated_function("JS: "), "JS: ");
  for (const char* other : {"", "py::", "py::load(int)", "py::ns::load", "JS:", "main", "java.util.List.add"})
    EXPECT_EQ(same_generated_function(other), "") << other;
}

TEST(diff_identity, versions_of_a_library_are_the_library) {
  EXPECT_EQ(same_module("/lib/x86_64-linux-gnu/libz.so.1.2.13"), "libz.so");
  EXPECT_EQ(same_module("libz.so"), "libz.so");
  EXPECT_EQ(same_module("/opt/libz.so.old"), "libz.so.old");
  EXPECT_EQ(same_module("/usr/bin/program"), "program");
  EXPECT_EQ(same_module("/usr/bin/program-1.2"), "program-1.2");
  EXPECT_EQ(same_module("/lib/libLLVM-14.so.1"), "libLLVM");
  EXPECT_EQ(same_module("libpython3.11.so.1.0"), same_module("/opt/lib/libpython3.12.so.1.0"));
  EXPECT_EQ(same_module("libglib-2.0.so.0.7400.6"), "libglib");
  EXPECT_EQ(same_module("_ssl.cpython-311-x86_64-linux-gnu.so"), same_module("_ssl.cpython-312-x86_64-linux-gnu.so"));
  EXPECT_EQ(same_module("libz3.so.4"), "libz3.so");
  EXPECT_EQ(same_module("1.2.so"), "1.2.so");
  EXPECT_EQ(same_module(".so"), ".so");
  EXPECT_EQ(same_module(""), "");
}

TEST(diff_compare, moved_code_and_another_line_are_the_same_stack) {
  profile_builder before;
  before.edit().process.exe = "/old/program-1.0";
  before.stack({{"f", "a.c", 10, "/old/program-1.0"}, {"main", "a.c", 90, "/old/program-1.0"}},
               booked(1, 100, 0, 0, 100));
  profile_builder after;
  after.edit().process.exe = "/new/program-1.1";
  after.stack({{"other", "b.c", 1, "/new/program-1.1"}, {"main", "a.c", 90, "/new/program-1.1"}},
              booked(1, 7, 0, 0, 7));
  after.stack({{"f [clone .isra.0]", "a.c", 12, "/new/program-1.1"}, {"main", "a.c", 95, "/new/program-1.1"}},
              booked(3, 300, 0, 0, 300));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const comparison compared(old_profile, new_profile);
  ASSERT_EQ(compared.stacks().size(), 2U);
  const stack_change* change = with_innermost(compared, "f [clone .isra.0]");
  ASSERT_NE(change, nullptr);
  EXPECT_EQ(change->before.live_bytes(), 100);
  EXPECT_EQ(change->after.live_bytes(), 300);
  EXPECT_EQ(change->stacks_before, 1U);
  EXPECT_EQ(change->stacks_after, 1U);
  const auto frames = compared.frames_of(*change);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(analyse::line_number(compared.shown_in(*change), frames[0].place), 12U);
  EXPECT_EQ(compared.frames()[frames[1].frame].module, "/new/program-1.1");
}

TEST(diff_compare, an_inlined_call_is_a_call) {
  profile_builder before;
  before.stack({{"leaf"}, {"middle"}, {"main"}}, booked(1, 1, 0, 0, 1));
  profile_builder after;
  after.stack({{"main", "", 0, "/usr/bin/program", {{"leaf"}, {"middle"}}}}, booked(2, 2, 0, 0, 2));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const comparison compared(old_profile, new_profile);
  ASSERT_EQ(compared.stacks().size(), 1U);
  EXPECT_EQ(compared.frames_of(compared.stacks()[0]).size(), 3U);
}

// gcc has no parameters of a function that it inlined wherever it is called.
TEST(diff_compare, a_function_whose_parameters_one_build_does_not_tell_is_the_same) {
  profile_builder before;
  before.stack({{"main::{lambda(int)#1}::operator()(int) const"}, {"main"}}, booked(1, 1, 0, 0, 1));
  before.stack({{"helper(int)"}, {"main"}}, booked(1, 2, 0, 0, 2));
  before.stack({{"overloaded(int)"}, {"main"}}, booked(1, 4, 0, 0, 4));
  profile_builder after;
  after.stack({{"main", "", 0, "/usr/bin/program", {{"main::{lambda}::operator()"}}}}, booked(1, 1, 0, 0, 1));
  after.stack({{"main", "", 0, "/usr/bin/program", {{"helper"}}}}, booked(1, 2, 0, 0, 2));
  after.stack({{"overloaded(long)"}, {"main"}}, booked(1, 4, 0, 0, 4));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const comparison compared(old_profile, new_profile);
  EXPECT_EQ(compared.stacks().size(), 4U);
  for (const char* function : {"main::{lambda(int)#1}::operator()(int) const", "helper(int)"}) {
    const stack_change* change = with_innermost(compared, function);
    ASSERT_NE(change, nullptr) << function;
    EXPECT_EQ(change->before, change->after) << function;
  }
  EXPECT_NE(with_innermost(compared, "overloaded(int)"), nullptr);
}

TEST(diff_compare, overloads_that_are_one_are_shown_without_parameters) {
  profile_builder before;
  before.stack({{"f(int)"}, {"main"}}, booked(1, 1, 0, 0, 1));
  before.stack({{"f(long)"}, {"main"}}, booked(1, 2, 0, 0, 2));
  profile_builder after;
  after.stack({{"main", "", 0, "/usr/bin/program", {{"f"}}}}, booked(1, 3, 0, 0, 3));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const comparison compared(old_profile, new_profile);
  ASSERT_EQ(compared.stacks().size(), 1U);
  EXPECT_NE(with_innermost(compared, "f"), nullptr);
  EXPECT_EQ(compared.stacks()[0].before.live_bytes(), 3);
}

TEST(diff_compare, python_in_another_folder_is_the_same) {
  profile_builder before;
  before.stack({{"alloc"}, {"py::load:/build/41/app.py", "", 0, ""}, {"main"}}, booked(1, 1, 0, 0, 1));
  profile_builder after;
  after.stack({{"alloc"}, {"py::load:/build/42/app.py", "", 0, ""}, {"main"}}, booked(1, 2, 0, 0, 2));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const comparison compared(old_profile, new_profile);
  ASSERT_EQ(compared.stacks().size(), 1U);
  EXPECT_EQ(compared.frames()[compared.frames_of(compared.stacks()[0])[1].frame].function, "py::load:/build/42/app.py");
}

TEST(diff_compare, how_deep_a_recursion_went_and_what_starts_main_do_not_count) {
  const auto recursive = [](int depth, const char* start) {
    profile_builder builder;
    std::vector<sample_frame> frames = {{"leaf"}};
    for (int i = 0; i < depth; ++i) frames.insert(frames.end(), {{"even"}, {"odd"}});
    frames.push_back({"main"});
    frames.push_back({start, "", 0, "/lib/libc.so.6"});
    frames.push_back({"", "", 0});
    builder.stack(frames, booked(1, 1, 0, 0, 1));
    return builder.build();
  };
  const profile old_profile = recursive(5, "__libc_start_main");
  const profile new_profile = recursive(9, "__libc_start_call_main");
  const comparison compared(old_profile, new_profile);
  ASSERT_EQ(compared.stacks().size(), 1U);
  const auto frames = compared.frames_of(compared.stacks()[0]);
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(frames[2].cycle, 2U);
  EXPECT_EQ(frames[2].times, 9U);
}

TEST(diff_compare, the_same_name_in_another_module_or_scope_is_another_stack) {
  profile_builder before;
  before.stack({{"init", "", 0, "/lib/liba.so.1"}}, booked(1, 1, 0, 0, 1));
  const auto scoped = before.stack({{"init", "", 0, "/lib/liba.so.1"}}, booked(1, 10, 0, 0, 10));
  before.edit().stacks[scoped].scope = {"request", "query"};
  profile_builder after;
  after.stack({{"init", "", 0, "/lib/liba.so.2"}}, booked(1, 1, 0, 0, 1));
  after.stack({{"init", "", 0, "/lib/libb.so.1"}}, booked(1, 1, 0, 0, 1));
  const profile old_profile = before.build();
  const profile new_profile = after.build();
  const comparison compared(old_profile, new_profile);
  ASSERT_EQ(compared.stacks().size(), 3U);
  const auto appeared = std::count_if(compared.stacks().begin(), compared.stacks().end(),
                                      [](const stack_change& change) { return change.stacks_before == 0; });
  EXPECT_EQ(appeared, 1);
  const auto vanished = std::find_if(compared.stacks().begin(), compared.stacks().end(),
                                     [](const stack_change& change) { return change.stacks_after == 0; });
  ASSERT_NE(vanished, compared.stacks().end());
  EXPECT_EQ(*vanished->scope, (std::vector<std::string>{"request", "query"}));
}

TEST(diff_compare, nameless_code_matches_by_address_only_in_one_and_the_same_build) {
  const auto nameless = [](const char* build_id, bool both) {
    profile_builder builder;
    builder.stack({{"malloc", "", 0, "/lib/libc.so.6"}, {"", "", 0, "/opt/stripped"}, {"main"}}, booked(1, 1, 0, 0, 1));
    profile p = builder.build();
    for (auto& module : p.modules) module.build_id = build_id;
    for (auto& place : p.locations) {
      if (place.symbols.empty()) place.address = both ? 0x5000 : 0x6000;
    }
    return p;
  };
  const profile one = nameless("aa", true);
  const profile moved_in_the_same_build = nameless("aa", false);
  const profile rebuilt = nameless("bb", false);
  EXPECT_EQ(comparison(one, one).stacks().size(), 1U);
  EXPECT_EQ(comparison(one, moved_in_the_same_build).stacks().size(), 2U);
  EXPECT_EQ(comparison(one, rebuilt).stacks().size(), 1U);
}

// The first frame that is met has the number 0.
TEST(diff_compare, a_frame_more_at_the_innermost_end_is_another_stack) {
  profile_builder builder;
  builder.stack({{"", "", 0, "/opt/stripped"}, {"work"}, {"main"}}, booked(1, 1, 0, 0, 1));
  builder.stack({{"work"}, {"main"}}, booked(2, 2, 0, 0, 2));
  const profile p = builder.build();
  EXPECT_EQ(comparison(p, p).stacks().size(), 2U);
}

TEST(diff_compare, a_vanished_stack_is_in_the_modules_of_the_old_build) {
  const auto stripped = [](const char* module) {
    profile_builder builder;
    builder.stack({{"", "", 0, module}, {"main"}}, booked(1, 1, 0, 0, 1));
    builder.stack({{"", "", 0, module}, {module[5] == '1' ? "removed" : "added"}, {"main"}}, booked(1, 1, 0, 0, 1));
    return builder.build();
  };
  const profile before = stripped("/opt/1/libz.so.1");
  const profile after = stripped("/opt/2/libz.so.2");
  const comparison compared(before, after);
  ASSERT_EQ(compared.stacks().size(), 3U);
  for (const auto& change : compared.stacks())
    EXPECT_EQ(compared.module_of(change, compared.frames_of(change)[0]),
              change.stacks_after == 0 ? "/opt/1/libz.so.1" : "/opt/2/libz.so.2");
}

TEST(diff_compare, what_grew_most_comes_first_and_then_what_shrank_most) {
  struct change {
    const char* function;
    std::uint64_t before, after;
    kind is;
  };
  constexpr change changes[] = {{"more", 100, 500, kind::grew},       {"some", 100, 300, kind::grew},
                                {"new", 0, 50, kind::appeared},       {"less", 900, 100, kind::shrank},
                                {"bit_less", 300, 200, kind::shrank}, {"gone", 40, 0, kind::vanished}};
  profile_builder before, after;
  for (const change& each : {changes[4], changes[1], changes[5], changes[3], changes[0], changes[2]}) {
    const std::vector<sample_frame> stack = {{each.function, "a.c", 1, "/bin/program"}};
    if (each.before != 0) before.stack(stack, booked(1, each.before, 0, 0, 0));
    if (each.after != 0) after.stack(stack, booked(1, each.after, 0, 0, 0));
  }
  const profile old = before.build(), now = after.build();
  const comparison compared(old, now);
  const auto order = rank_changes(compared, analyse::measure::live);
  ASSERT_EQ(order.size(), std::size(changes));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto& found = compared.stacks()[order[i]];
    EXPECT_EQ(&found, with_innermost(compared, changes[i].function)) << changes[i].function;
    EXPECT_EQ(kind_of(found, analyse::measure::live), changes[i].is) << changes[i].function;
  }
}

TEST(diff_compare, nothing_is_lost_in_the_sums) {
  const profile old_profile = sample::killed_server();
  const profile new_profile = sample::profile_builder().build();
  for (const auto& [left, right] : {std::pair(&old_profile, &new_profile), std::pair(&new_profile, &old_profile),
                                    std::pair(&old_profile, &old_profile)}) {
    const comparison compared(*left, *right);
    counters before;
    counters after;
    for (const auto& change : compared.stacks()) {
      before += change.before;
      after += change.after;
    }
    EXPECT_EQ(before, left->totals());
    EXPECT_EQ(after, right->totals());
    EXPECT_EQ(compared.total_before(), left->totals());
    EXPECT_EQ(compared.total_after(), right->totals());
  }
}

}  // namespace
}  // namespace heapledger::diff

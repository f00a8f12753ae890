// Programs that ran without the probe: from the segment of who executed them to the words.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "collected.hpp"
#include "segment_builder.hpp"
#include "temporary_folder.hpp"
#include "tool/cli/run_finish.hpp"
#include "tool/cli/run_messages.hpp"
#include "tool/collect/segment.hpp"
#include "tool/profile/read.hpp"
#include "tool/report/uncounted_text.hpp"

namespace heapledger {
namespace {

using testing::memory_file;
using testing::segment_builder;
using wire::uncounted_reason;

void add(segment_builder& to, std::size_t entry, uncounted_reason reason, std::string_view path, std::uint64_t times) {
  auto& program = to.header.uncounted[entry];
  program.reason = reason;
  program.ready = 1;
  program.times = times;
  path.copy(program.path, sizeof program.path);
}

std::vector<uncounted_info> uncounted_of(segment_builder& builder) {
  return testing::collected(builder).uncounted;
}

TEST(uncounted, stands_once_for_each_program_and_reason) {
  segment_builder builder;
  add(builder, 0, uncounted_reason::static_program, "tool", 2);
  add(builder, 1, uncounted_reason::privileged, "tool", 1);
  add(builder, 2, uncounted_reason::static_program, "tool", 3);
  builder.header.uncounted_others = 7;
  EXPECT_EQ(uncounted_of(builder),
            (std::vector<uncounted_info>{{"tool", "static", 5}, {"tool", "privileged", 1}, {"", "", 7}}));
}

TEST(uncounted, what_cannot_be_is_left_out) {
  segment_builder builder;
  add(builder, 0, uncounted_reason::count, "a", 1);
  add(builder, 1, static_cast<uncounted_reason>(~0U), "b", 1);
  add(builder, 2, uncounted_reason::sanitizer, "c", ~std::uint64_t{0});  // never executed after all, or overwritten
  add(builder, 3, uncounted_reason::sanitizer, "d", 0);
  add(builder, 4, uncounted_reason::sanitizer, "e", 1);
  builder.header.uncounted[4].ready = 0;
  const std::string unended(sizeof builder.header.uncounted[5].path, 'f');
  add(builder, 5, uncounted_reason::other_libc, unended, 1);
  EXPECT_EQ(uncounted_of(builder), (std::vector<uncounted_info>{{unended, "other-libc", 1}}));
}

TEST(uncounted, in_words) {
  EXPECT_EQ(report::uncounted_text({{"a", "static", 1}, {"b", "sanitizer", 2000}, {"", "", 1}, {"c\n", "new", 1}}),
            "b (2,000 times; has a sanitizer), a (statically linked), c\\x0a (new), 1 start of others");
  std::vector<uncounted_info> many(10, {"same", "static", 3});
  EXPECT_TRUE(report::uncounted_text(many).ends_with("(3 times; statically linked), 12 starts of others"));
}

TEST(uncounted, only_those_that_were_asked_for) {
  const std::vector<uncounted_info> programs = {{"/bin/a", "static", 1}, {"b", "static", 1}};
  const auto said = [&](const std::vector<std::string>& only) {
    ::testing::internal::CaptureStderr();
    cli::say_uncounted(programs, only);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(said({}), "heapledger: not counted: /bin/a (statically linked), b (statically linked)\n");
  EXPECT_EQ(said({"a"}), "heapledger: not counted: /bin/a (statically linked)\n");
  EXPECT_EQ(said({"c"}), "");
}

// A shell's child executes the program, and has a segment until then.
TEST(uncounted, a_child_between_fork_and_exec_hands_it_to_its_parent) {
  constexpr pid_t parent = 4, child = 5;
  const temporary_folder folder;
  std::list<collect::process_watch> images;
  for (const pid_t pid : {parent, child}) {
    segment_builder builder;
    builder.header.pid = static_cast<std::uint32_t>(pid);
    builder.header.parent_pid = static_cast<std::uint32_t>(pid) - 1;
    builder.header.forked = pid == child ? 1 : 0;
    if (pid == child) add(builder, 0, uncounted_reason::static_program, "tool", 1);
    const auto path = folder / (std::to_string(pid) + "-1.hls");
    std::ofstream(path, std::ios::binary) << builder.bytes();
    using state = collect::process_watch::state;
    images.emplace_back(path, pid, 1, false).end(pid == child ? state::replaced : state::ended, 0, {});
  }
  collect::output_names names(folder / "%p.hlp", false);
  cli::profile_writer writer(names, parent);
  writer.write_all(images, {});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"4.hlp"}));
  const std::vector<uncounted_info> expected = {{"tool", "static", 1}};
  EXPECT_EQ(read_profile(folder / "4.hlp").uncounted, expected);
  EXPECT_EQ(writer.uncounted(), expected);
}

}  // namespace
}  // namespace heapledger

// Sessions with real processes that put made-up segments where the probe would.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "segment_builder.hpp"
#include "tool/collect/launch.hpp"
#include "tool/collect/session.hpp"
#include "tool/collect/session_directory.hpp"
#include "tool/collect/totals.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

class session_test : public ::testing::Test {
 protected:
  session_test() {
    segment_builder builder;
    builder.accounts[builder.add_account(builder.add_node(0, 0x1000))].allocations = 3;
    std::ofstream(directory_.path() + "/template", std::ios::binary) << builder.bytes();
  }

  // What a shell does to look like a process under the probe.
  std::string become(int serial) const {
    return fmt::format("cp {0}/template {0}/new-$$; mv {0}/new-$$ {0}/$$-{1}.hls", directory_.path(), serial);
  }
  int watch(const std::string& script) {
    held_signals signals;
    std::vector<std::string> environment = {"PATH=/usr/bin:/bin"};
    root_ = launch({"sh", "-c", script}, environment, signals);
    return session_.watch(root_, signals);
  }

  session_directory directory_{"."};
  session_options options_;
  session session_{directory_.path(), {.interval_ms = 10, .retire = {}, .is_retiring = {}, .look = {}}};
  pid_t root_ = 0;
};

TEST_F(session_test, learns_how_the_root_ended) {
  EXPECT_EQ(WEXITSTATUS(watch(become(0) + "; exit 5")), 5);
  ASSERT_EQ(session_.images().size(), 1u);
  const auto& image = session_.images().front();
  EXPECT_EQ(image.pid(), root_);
  EXPECT_EQ(image.image_number(), 0u);
  const auto collected = image.collect();
  ASSERT_TRUE(collected.has_value());
  EXPECT_EQ(collected->process.ended, ending::exited);
  EXPECT_EQ(collected->process.exit_code, 5);
  EXPECT_EQ(collected->totals().allocations, 3u);
}

TEST_F(session_test, learns_of_the_signal_that_ended_it) {
  EXPECT_EQ(WTERMSIG(watch(become(0) + "; kill -KILL $$")), 9);
  const auto collected = session_.images().front().collect();
  ASSERT_TRUE(collected.has_value());
  EXPECT_EQ(collected->process.ended, ending::signaled);
  EXPECT_EQ(collected->process.signal, 9);
  EXPECT_FALSE(collected->process.exit_code.has_value());
}

TEST_F(session_test, follows_no_link_in_its_directory) {
  watch(fmt::format("ln -s template {}/$$-0.hls", directory_.path()));
  ASSERT_EQ(session_.images().size(), 1u);
  EXPECT_FALSE(session_.images().front().collect().has_value());
}

TEST_F(session_test, numbers_the_images_before_the_last) {
  watch(become(0) + "; " + become(1) + "; " + become(2));
  ASSERT_EQ(session_.images().size(), 3u);
  for (const auto& image : session_.images()) EXPECT_EQ(image.image_number(), (image.serial() + 1) % 3);
  for (const auto& image : session_.images())
    EXPECT_EQ(image.collect()->process.exit_code.has_value(), image.serial() == 2);
}

TEST_F(session_test, follows_children_and_never_tells_a_wrong_status) {
  const auto child = become(0) + "; exit 6";
  std::ofstream(directory_.path() + "/child") << child;
  watch(fmt::format("for i in 1 2 3 4 5 6; do sh {}/child; done; {}; exit 0", directory_.path(), become(0)));
  ASSERT_EQ(session_.images().size(), 7u);
  for (const auto& image : session_.images()) {
    const auto collected = image.collect();
    EXPECT_EQ(image.now(), process_watch::state::ended);
    EXPECT_EQ(collected->process.exit_code.value_or(6), image.pid() == root_ ? 0 : 6);
  }
}

TEST_F(session_test, what_still_runs_at_the_end_is_said_to_run) {
  // The background process lives until it reads a line: until this test is done with it.
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto child = become(0) + fmt::format("; touch {}/ready; read line", directory_.path());
  std::ofstream(directory_.path() + "/child") << child;
  watch(fmt::format("sh {0}/child <&{1} & while ! test -e {0}/ready; do :; done", directory_.path(), ends[0]));
  ASSERT_EQ(session_.images().size(), 1u);
  EXPECT_EQ(session_.images().front().now(), process_watch::state::running);
  EXPECT_EQ(session_.images().front().collect()->process.ended, ending::running);
  EXPECT_EQ(::write(ends[1], "\n", 1), 1);
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(session_test, other_files_are_none_of_its_business) {
  watch(fmt::format("cd {0}; touch ./x.hls ./1-x.hls ./-1-0.hls ./12-0.hls.tmp 99999999999-0.hls 3-0.hls",
                    directory_.path()));
  ASSERT_EQ(session_.images().size(), 1u);
  EXPECT_FALSE(session_.images().front().collect().has_value());  // never made
}

TEST_F(session_test, retires_what_ended_when_segments_pile_up) {
  watch(become(0));
  const auto each_bytes = session_.images().front().resident_bytes();
  ASSERT_GT(each_bytes, 0U);
  const auto children_retired = [&](std::uint64_t limit, bool busy) {
    const session_directory directory(".");
    const auto go = directory_.path() + "/go";
    std::filesystem::remove(go);
    EXPECT_EQ(::mkfifo(go.c_str(), 0600), 0);
    std::vector<pid_t> retired;
    session* watching = nullptr;
    int samples = 0;
    // The root ends only after all children have been seen to, and what was to be retired was.
    const auto let_root_end = [&](const process_watch&, std::uint64_t) {
      const auto& images = watching->images();
      const auto running = std::count_if(images.begin(), images.end(), [](const process_watch& image) {
        return image.now() == process_watch::state::running;
      });
      if (images.size() + retired.size() == 4 && running == 1 && ++samples == 3) std::ofstream(go) << "on\n";
    };
    session bounded(directory.path(), {.interval_ms = 10,
                                       .held_bytes_limit = limit,
                                       .retire =
                                           [&](const std::list<process_watch>& ended) {
                                             for (const auto& image : ended) retired.push_back(image.pid());
                                           },
                                       .is_retiring = [&] { return busy; },
                                       .look = let_root_end});
    watching = &bounded;
    const auto program =
        fmt::format("cp {0}/template {1}/new-$$; mv {1}/new-$$ {1}/$$-0.hls", directory_.path(), directory.path());
    std::ofstream(directory.path() + "/child") << program;
    held_signals signals;
    const auto script =
        fmt::format("for i in 1 2 3; do sh {}/child; done; {}; read line < {}", directory.path(), program, go);
    const pid_t root = launch({"sh", "-c", script}, {"PATH=/usr/bin:/bin"}, signals);
    bounded.watch(root, signals);
    EXPECT_EQ(std::count(retired.begin(), retired.end(), root), 0);
    EXPECT_EQ(bounded.images().size(), 4 - retired.size());
    return retired.size();
  };
  EXPECT_EQ(children_retired(0, false), 3U);
  EXPECT_EQ(children_retired(0, true), 3U) << "twice as much is waited for";
  EXPECT_EQ(children_retired(each_bytes * 5 / 2, false), 3U);
  EXPECT_EQ(children_retired(each_bytes * 5 / 2, true), 0U);
}

TEST(collect_session_directory, is_private_and_gone_at_the_end_unless_kept) {
  std::string path;
  {
    const session_directory directory(".", false);
    path = directory.path();
    EXPECT_EQ(std::filesystem::status(path).permissions(), std::filesystem::perms::owner_all);
    EXPECT_TRUE(std::filesystem::is_empty(path));
    std::ofstream(path + "/1-0.hls") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  {
    session_directory directory(".", false);
    path = directory.path();
    directory.keep(true);
  }
  EXPECT_TRUE(std::filesystem::remove(path));
}

TEST(collect_session_directory, takes_other_users_files_behind_a_name_that_they_cannot_list) {
  using std::filesystem::perms;
  std::filesystem::path inner;
  {
    const auto before = ::umask(077);
    const session_directory directory(".", true);
    ::umask(before);
    inner = directory.path();
    const auto all_create_none_lists = perms::owner_all | perms::group_write | perms::group_exec | perms::others_write |
                                       perms::others_exec | perms::sticky_bit;
    EXPECT_EQ(std::filesystem::status(inner).permissions(), all_create_none_lists);
    EXPECT_EQ(std::filesystem::status(inner.parent_path()).permissions(),
              perms::owner_all | perms::group_exec | perms::others_exec);
    EXPECT_EQ(inner.filename().string().size(), 32U);
    std::ofstream(inner / "1-0.hls") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(inner.parent_path()));
}

TEST(collect_totals, adds_up_threads_and_survives_a_cut) {
  segment_builder builder;
  builder.add_thread(1, "a").allocated_bytes = 100;
  auto& other = builder.add_thread(2, "b");
  other.freed_bytes = 30;
  other.allocations = 7;
  other.frees = 2;
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  totals_reader reader(segment);
  const auto totals = reader.read();
  ASSERT_TRUE(totals.has_value());
  EXPECT_EQ(totals->live_bytes(), 70);
  EXPECT_EQ(totals->live_blocks(), 5);
  const std::uint32_t hostile_count = UINT32_MAX;
  ASSERT_EQ(::pwrite(file.fd(), &hostile_count, 4, offsetof(wire::segment_header, thread_count)), 4);
  EXPECT_EQ(reader.read()->live_bytes(), 70);  // as many as fit
  ASSERT_EQ(::ftruncate(file.fd(), wire::header_bytes), 0);
  EXPECT_FALSE(reader.read().has_value());
}

}  // namespace
}  // namespace heapledger::collect

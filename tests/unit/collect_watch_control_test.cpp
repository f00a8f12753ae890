// The tool's hand on the leak watch: what it writes, and what it believes of what it reads.
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include "segment_builder.hpp"
#include "tool/collect/watch_control.hpp"
#include "tool/collect/watch_pages.hpp"
#include "tool/collect/watch_wish.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

wire::watch_request request_in(const memory_file& file) {
  wire::watch_request request{};
  EXPECT_EQ(::pread(file.fd(), &request, sizeof request, offsetof(wire::segment_header, watch_asked)),
            static_cast<ssize_t>(sizeof request));
  return request;
}

template <class T>
T element(const memory_file& file, const wire::region& region, std::size_t index) {
  T value{};
  EXPECT_EQ(::pread(file.fd(), &value, sizeof value, static_cast<off_t>(region.offset + index * sizeof(T))),
            static_cast<ssize_t>(sizeof value));
  return value;
}

class watch_control_test : public ::testing::Test {
 protected:
  memory_file make() {
    builder.watch_marks.resize(8192);
    builder.watch_arms.resize(16);
    return memory_file(builder.bytes());
  }
  segment_builder builder;
};

TEST_F(watch_control_test, start_publishes_last) {
  const auto file = make();
  watch_control watch(file.path());
  watch.start({.blocks = 7, .bytes = 8, .each_bytes = 9}, 1234);
  const auto request = request_in(file);
  EXPECT_EQ(request.on, 1u);
  EXPECT_EQ(request.sequence, 1u);
  EXPECT_EQ(request.lease_ns, 1234u);
  EXPECT_EQ(request.most_blocks, 7u);
  EXPECT_EQ(request.most_bytes, 8u);
  EXPECT_EQ(request.most_each_bytes, 9u);
  EXPECT_FALSE(watch.is_heeded());
  watch.stop();
  EXPECT_EQ(request_in(file).on, 0u);
  EXPECT_EQ(request_in(file).sequence, 2u);
}

TEST_F(watch_control_test, suspects_and_marks) {
  const auto file = make();
  const auto& header = builder.header;
  {
    watch_control watch(file.path());
    EXPECT_TRUE(watch.suspect(5, 0.5, 30));
    EXPECT_TRUE(watch.suspect(2000, 1, 10));
    EXPECT_TRUE(watch.suspect(5, 0.25, 20));
    EXPECT_FALSE(watch.suspect(0xffffffff, 1, 1));
    watch.acquit(2000);
    watch.acquit(77);
  }
  EXPECT_EQ(request_in(file).suspect_count, 2u);
  EXPECT_EQ(request_in(file).mark_count, 2048u);
  EXPECT_EQ(element<std::uint32_t>(file, header.watch_marks, 5), 1u);
  EXPECT_EQ(element<std::uint32_t>(file, header.watch_marks, 2000), 0u);
  EXPECT_EQ(element<wire::watch_suspect>(file, header.watch_suspects, 0).most, 20u);
  EXPECT_EQ(element<wire::watch_suspect>(file, header.watch_suspects, 0).inclusion, chance_word(0.25));
  // Another tool takes it up.
  watch_control next(file.path());
  EXPECT_EQ(next.suspects().size(), 2u);
  EXPECT_TRUE(next.suspect(2000, 1, 40, 0.125));
  EXPECT_EQ(element<wire::watch_suspect>(file, header.watch_suspects, 1).chance, chance_word(1));
  EXPECT_EQ(element<wire::watch_suspect>(file, header.watch_suspects, 1).inclusion, chance_word(0.125));
  EXPECT_EQ(request_in(file).suspect_count, 2u);
  EXPECT_EQ(element<std::uint32_t>(file, header.watch_marks, 2000), 2u);
}

TEST_F(watch_control_test, pool_sites_are_marked_where_they_are) {
  builder.pool_sites.resize(4);
  const auto file = make();
  const auto& sites = builder.header.pool_sites;
  watch_control watch(file.path());
  EXPECT_TRUE(watch.suspect(wire::watch_pool_site | 3, 0.5, 30));
  EXPECT_FALSE(watch.suspect(wire::watch_pool_site | static_cast<std::uint32_t>(sites.capacity), 0.5, 30));
  EXPECT_EQ(element<wire::pool_site>(file, sites, 3).mark, 1u);
  EXPECT_EQ(element<wire::watch_suspect>(file, builder.header.watch_suspects, 0).account, wire::watch_pool_site | 3);
  EXPECT_EQ(request_in(file).mark_count, 0u);
  watch.acquit(wire::watch_pool_site | 3);
  EXPECT_EQ(element<wire::pool_site>(file, sites, 3).mark, 0u);
}

TEST_F(watch_control_test, verdicts_are_there_for_others) {
  const auto file = make();
  watch_control watch(file.path());
  EXPECT_TRUE(watch.suspect(5, 0.5, 30));
  watch.conclude(5, {wire::watch_verdict::leak, 1000, 50'000});
  watch.conclude(6, {wire::watch_verdict::leak, 1, 1});  // of no suspect
  const auto said = element<wire::watch_suspect>(file, builder.header.watch_suspects, 0);
  EXPECT_EQ(said.verdict, wire::watch_verdict::leak);
  EXPECT_EQ(said.lost_bytes, 1000u);
  EXPECT_EQ(said.lost_bytes_per_hour, 50'000u);
  EXPECT_EQ(said.chance, chance_word(0.5));
}

TEST_F(watch_control_test, wishes_count_up) {
  const auto file = make();
  const segment_file segment(file.path());
  watch_control watch(file.path());
  EXPECT_FALSE(read_wish(segment).is_new());
  const auto first = add_wish(segment, true);
  EXPECT_TRUE(read_wish(segment).wants_watch());
  EXPECT_TRUE(read_wish(segment).is_new());
  heed_wish(segment, first);
  EXPECT_FALSE(read_wish(segment).is_new());
  EXPECT_NE(add_wish(segment, true), first);
  EXPECT_TRUE(read_wish(segment).wants_watch());
  add_wish(segment, false);
  EXPECT_FALSE(read_wish(segment).wants_watch());
  watch.start({}, 1);
  EXPECT_TRUE(read_wish(segment).is_new()) << "the watching tool writes its own words only";
}

TEST_F(watch_control_test, a_batch_waits_for_the_one_before) {
  const auto file = make();
  watch_control watch(file.path());
  const std::vector<wire::watch_arm> two = {{1, 1}, {2, 5}};
  EXPECT_TRUE(watch.arm(two));
  EXPECT_FALSE(watch.arm(two));
  EXPECT_FALSE(watch.has_armed());
  wire::watch_answer answer{};
  answer.arm_batch = 1;
  answer.arm_done = 2;
  ASSERT_EQ(::pwrite(file.fd(), &answer, sizeof answer, offsetof(wire::segment_header, watch)),
            static_cast<ssize_t>(sizeof answer));
  EXPECT_TRUE(watch.arm({two.data(), 1}));
  EXPECT_FALSE(watch.arm(std::vector<wire::watch_arm>(builder.header.watch_arms.capacity + 1)));
}

TEST_F(watch_control_test, one_tool_at_a_time) {
  const auto file = make();
  watch_control watch(file.path());
  EXPECT_THROW(watch_control(file.path()), input_error);
}

// /proc/locks loses lines meanwhile.
TEST_F(watch_control_test, seen_by_others_whatever_else_is_locked) {
  const auto file = make();
  const segment_file seen(file.path());
  std::optional<watch_control> watch(file.path());
  watch->start({}, 1234);
  std::atomic<int> rounds{0};
  std::jthread others([&](std::stop_token stop) {
    std::deque<memory_file> files;
    for (int i = 0; i < 300; ++i) files.emplace_back("");
    for (; !stop.stop_requested(); ++rounds) {
      for (const auto& each : files) ::flock(each.fd(), LOCK_EX);
      for (const auto& each : files) ::flock(each.fd(), LOCK_UN);
    }
  });
  for (int i = 0; i < 2000 || rounds < 100; ++i) ASSERT_TRUE(is_watched(seen)) << i;
  watch.reset();
  EXPECT_FALSE(is_watched(seen));
}

TEST_F(watch_control_test, counts_that_cannot_be) {
  builder.change_header = [](wire::segment_header& header) {
    header.watch.slot_count = 0xffffffff;
    header.watch_asked.suspect_count = 0xffffffff;
    header.watch_asked.mark_count = 0xffffffff;
  };
  const auto file = make();
  watch_control watch(file.path());
  EXPECT_LE(watch.answer().slot_count, builder.header.watch_slots.capacity);
  EXPECT_LE(watch.suspects().size(), builder.header.watch_suspects.capacity);
  EXPECT_TRUE(watch.slots().empty());
  EXPECT_FALSE(watch.suspect(4000, 1, 1));  // full, as far as it can tell
}

TEST_F(watch_control_test, regions_that_cannot_be) {
  builder.change_header = [](wire::segment_header& header) {
    header.watch_slots = {.offset = std::uint64_t{1} << 40, .capacity = std::uint64_t{1} << 32};
    header.watch_suspects = {.offset = std::uint64_t{1} << 42, .capacity = std::uint64_t{1} << 32};
    header.watch.slot_count = 0xffffffff;
  };
  const auto file = make();
  {
    watch_control watch(file.path());
    ASSERT_LE(watch.answer().slot_count, wire::watch_slot_capacity);
    EXPECT_THROW(watch.slots(), input_error) << "the file ends before";
  }
  const std::uint32_t most = 0xffffffff;
  constexpr auto at = offsetof(wire::segment_header, watch_asked) + offsetof(wire::watch_request, suspect_count);
  ASSERT_EQ(::pwrite(file.fd(), &most, sizeof most, at), static_cast<ssize_t>(sizeof most));
  EXPECT_THROW(watch_control(file.path()), input_error);
}

TEST_F(watch_control_test, slots_of_unknown_states_are_left_out) {
  builder.watch_slots.resize(3);
  builder.watch_slots[1].state = wire::watch_slot_state::live;
  builder.watch_slots[2].state = static_cast<wire::watch_slot_state>(99);
  const auto file = make();
  watch_control watch(file.path());
  ASSERT_EQ(watch.slots().size(), 1u);
  EXPECT_EQ(watch.slots()[0].index, 1u);
}

TEST(watch_chance, words) {
  for (const double chance : {1.0, 0.5, 0.001, 1e-9}) EXPECT_NEAR(chance_of(chance_word(chance)), chance, 1e-9);
  EXPECT_EQ(chance_word(1), 0xffffffffu);
  EXPECT_EQ(chance_word(7), 0xffffffffu);
  EXPECT_EQ(chance_word(-1), 0u);
}

TEST(watch_pages_test, our_own_pages) {
  constexpr std::size_t slots = 100;
  const std::size_t bytes = (slots + 1) * wire::watch_slot_bytes;
  void* const map = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(map, MAP_FAILED);
  ::madvise(map, bytes, MADV_NOHUGEPAGE);
  const auto base = (reinterpret_cast<std::uint64_t>(map) + wire::watch_slot_bytes - 1) & ~(wire::watch_slot_bytes - 1);
  for (std::size_t slot = 0; slot < slots; slot += 3)
    reinterpret_cast<volatile char*>(base + slot * wire::watch_slot_bytes)[slot % 16 * 4096] = 1;
  std::vector<bool> expected(slots);
  for (std::size_t slot = 0; slot < slots; slot += 3) expected[slot] = true;
  for (const auto way : {pagemap_way::best, pagemap_way::read_only}) {
    watch_pages pages(::getpid(), way);
    ASSERT_TRUE(pages.is_open()) << pages.why_not();
    EXPECT_EQ(pages.present(base, slots), expected);
    EXPECT_TRUE(pages.can_be_asked());
  }
  ::munmap(map, bytes);
  EXPECT_FALSE(watch_pages(4194304 + 1).is_open());
  EXPECT_TRUE(watch_pages(4194304 + 1).present(0, 10).empty());
}

TEST(watch_pages_test, of_a_process_that_has_ended_nothing_is_known) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::pause();
    ::_exit(0);
  }
  const watch_pages pages(child);
  EXPECT_TRUE(pages.can_be_asked());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_FALSE(pages.can_be_asked());
}

}  // namespace
}  // namespace heapledger::collect

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "collected.hpp"
#include "segment_builder.hpp"
#include "tool/collect/segment.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

using testing::collected;
using testing::memory_file;
using testing::segment_builder;

const stack_entry& stack_of(const profile& from, std::uint32_t account) {
  const auto found =
      std::find_if(from.stacks.begin(), from.stacks.end(), [&](const auto& s) { return s.id == account; });
  if (found == from.stacks.end()) throw std::runtime_error("no such stack");
  return *found;
}

TEST(collect_segment, reads_who_the_process_was) {
  segment_builder builder;
  builder.header.parent_pid = 7;
  builder.header.forked = 1;
  builder.header.stacks = wire::stacks_mode::frame_pointer;
  builder.header.depth_limit = 30;
  builder.header.state = wire::lifecycle::exited;
  builder.header.end_monotonic_ns = builder.header.start_monotonic_ns + 250;
  const auto result = collected(builder);
  EXPECT_EQ(result.process.exe, "/usr/bin/program");
  EXPECT_EQ(result.process.command, (std::vector<std::string>{"program", "-x", "two words"}));
  EXPECT_EQ(result.process.parent_pid, 7u);
  EXPECT_TRUE(result.process.forked);
  EXPECT_EQ(result.process.stacks, "fp");
  EXPECT_EQ(result.process.depth_limit, 30u);
  EXPECT_EQ(result.process.ended, ending::exited);
  EXPECT_EQ(result.process.duration_ns, 250);
  EXPECT_FALSE(result.process.exit_code.has_value());
}

TEST(collect_segment, adds_up_the_cells_of_all_writers) {
  segment_builder builder;
  const auto account = builder.add_account(builder.add_node(0, 0x1000));
  builder.accounts[account].allocations = 5;
  builder.accounts[account].allocated_bytes = 500;
  builder.accounts[account].temporaries = 1;
  auto& other = builder.add_cell(account);  // a thread that frees what another allocated
  other.frees = 3;
  other.freed_bytes = 300;
  other.reallocations = 2;
  builder.add_cell(account).id = 0;  // free cells do not count
  builder.cells.back().allocations = 99;
  builder.header.peak_bytes = 500;
  const auto result = collected(builder);
  ASSERT_EQ(result.stacks.size(), 1u);
  const auto& count = result.stacks[0].count;
  EXPECT_EQ(count.allocations, 5u);
  EXPECT_EQ(count.live_blocks(), 2);
  EXPECT_EQ(count.live_bytes(), 200);
  EXPECT_EQ(count.temporaries, 1u);
  EXPECT_EQ(count.reallocations, 2u);
}

TEST(collect_segment, drops_accounts_that_hold_nothing) {
  segment_builder builder;
  builder.add_account(builder.add_node(0, 0x1000));
  const auto used = builder.add_account(builder.add_node(0, 0x2000));
  builder.accounts[used].allocations = 1;
  const auto result = collected(builder);
  ASSERT_EQ(result.stacks.size(), 1u);
  EXPECT_EQ(result.stacks[0].id, used);
  EXPECT_EQ(result.nodes.size(), 2u);
  EXPECT_EQ(result.locations.size(), 1u);
}

TEST(collect_segment, one_row_stands_for_all_accounts_of_a_stack) {
  segment_builder builder;
  const auto outer = builder.add_node(0, 0x1000);
  const auto first = builder.add_account(builder.add_node(outer, 0x2000));
  const auto again = builder.add_account(builder.add_node(outer, 0x2000));  // appended by another thread
  const auto other = builder.add_account(outer);
  for (const auto account : {first, again, other}) builder.accounts[account].allocations = account;
  builder.add_error(wire::error_kind::overflow, again, 1).allocated_node = builder.account_keys[again].node;
  const auto result = collected(builder);
  ASSERT_EQ(result.stacks.size(), 2u);
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors[0].stack, first);
  EXPECT_EQ(stack_of(result, first).count.allocations, first + again);
  EXPECT_EQ(stack_of(result, other).count.allocations, other);
}

TEST(collect_segment, an_error_has_the_stack_that_frees_and_keeps_that_which_allocated) {
  segment_builder builder;
  const auto outer = builder.add_node(0, 0x1000);
  const auto made = builder.add_node(outer, 0x2000), gone = builder.add_node(outer, 0x3000);
  const auto freed = builder.add_node(outer, 0x4000);
  const auto was = builder.add_account(outer), is = builder.add_account(made);  // `was` stood for `made` before
  builder.accounts[was].allocations = 1;
  for (const auto node : {made, gone}) {
    auto& error = builder.add_error(wire::error_kind::mismatch, was, 1);
    error.allocated_node = node;
    error.node = freed;
    error.allocated_by = wire::call_family::array;
    error.freed_by = wire::call_family::malloc;
  }
  builder.errors.back().freed_by = static_cast<wire::call_family>(77);
  builder.errors.back().node = 12345;
  const auto result = collected(builder);
  ASSERT_EQ(result.errors.size(), 2u);
  const auto& found = result.errors[0];
  EXPECT_EQ(found.stack, is);
  EXPECT_EQ(found.allocated_by + ", " + found.freed_by, "new[], free");
  ASSERT_NE(found.freed_node, 0u);
  EXPECT_EQ(result.nodes[found.freed_node].parent, result.nodes[stack_of(result, is).node].parent);
  EXPECT_EQ(result.errors[1].stack, 0u) << "no account stands for it";
  EXPECT_EQ(result.errors[1].freed_node, 0u);
  EXPECT_EQ(result.errors[1].freed_by, "");
}

TEST(collect_segment, takes_an_unfinished_fold_from_its_journal) {
  segment_builder builder;
  const auto account = builder.add_account(0);
  builder.add_cell(account).allocations = 10;  // the source, not yet emptied
  builder.add_cell(account).allocations = 7;   // the destination, half written
  auto& fold = builder.header.folds[3];
  fold.state = wire::fold_state::valid;
  fold.source = 0;
  fold.destination = 1;
  fold.after.id = account + 1;
  fold.after.allocations = 15;
  EXPECT_EQ(collected(builder).totals().allocations, 15u);
  fold.state = wire::fold_state::idle;
  EXPECT_EQ(collected(builder).totals().allocations, 17u);
}

TEST(collect_segment, takes_the_peak_of_its_epoch_and_the_net_elsewhere) {
  segment_builder builder;
  builder.header.peak_epoch = 4;
  builder.header.peak_bytes = 1100;
  builder.header.peak_monotonic_ns = builder.header.start_monotonic_ns + 77;
  const auto changed = builder.add_account(builder.add_node(0, 0x1000));
  builder.accounts[changed] = {.allocations = 2,
                               .allocated_bytes = 1000,
                               .frees = 2,
                               .freed_bytes = 1000,
                               .temporaries = 0,
                               .reallocations = 0,
                               .peak_bytes = 1000,
                               .peak_epoch = 4,
                               .id = 1};
  const auto unchanged = builder.add_account(builder.add_node(0, 0x2000));
  builder.accounts[unchanged] = {.allocations = 1,
                                 .allocated_bytes = 100,
                                 .frees = 0,
                                 .freed_bytes = 0,
                                 .temporaries = 0,
                                 .reallocations = 0,
                                 .peak_bytes = 5,
                                 .peak_epoch = 3,
                                 .id = 1};
  const auto result = collected(builder);
  EXPECT_EQ(stack_of(result, changed).count.peak_bytes, 1000);
  EXPECT_EQ(stack_of(result, unchanged).count.peak_bytes, 100);
  EXPECT_EQ(result.peak.error_bytes, 0u);
  EXPECT_EQ(result.peak.time_ns, 77);
}

TEST(collect_segment, the_peak_is_now_when_more_lives_than_was_recorded) {
  segment_builder builder;
  builder.header.peak_bytes = 99;
  const auto account = builder.add_account(0);
  builder.accounts[account] = {.allocations = 1,
                               .allocated_bytes = 100,
                               .frees = 0,
                               .freed_bytes = 0,
                               .temporaries = 0,
                               .reallocations = 0,
                               .peak_bytes = 3,
                               .peak_epoch = 1,
                               .id = 1};
  builder.header.threaded = 1;
  builder.header.hold_back_bytes = 4096;
  builder.header.peak_threads = 3;
  const auto result = collected(builder);
  EXPECT_EQ(result.totals().peak_bytes, 100);
  EXPECT_EQ(result.peak.time_ns, result.process.duration_ns);
}

TEST(collect_segment, the_peak_is_true_to_within_what_threads_held_back_but_no_more_than_was_allocated) {
  const auto error = [](std::uint64_t allocated) {
    segment_builder builder;
    builder.header.threaded = 1;
    builder.header.hold_back_bytes = 4096;
    builder.header.peak_threads = 3;
    builder.accounts[builder.add_account(0)].allocated_bytes = allocated;
    return collected(builder).peak.error_bytes;
  };
  EXPECT_EQ(error(50'000), 3u * 4096);
  EXPECT_EQ(error(100), 100u);
  EXPECT_EQ(error(0), 0u);
}

TEST(collect_segment, what_a_server_left_of_its_arguments_is_no_command) {
  segment_builder builder;
  builder.header.command = builder.text(std::string_view("server: main\0\0", 14));
  builder.header.command_bytes = 14;
  EXPECT_EQ(collected(builder).process.command, (std::vector<std::string>{"server: main", ""})) << "as it was started";
  builder.header.attached_after_ns = 1;
  EXPECT_EQ(collected(builder).process.command, (std::vector<std::string>{"server: main"}));
}

TEST(collect_segment, a_peak_that_is_the_last_moment_mentioned_stays_where_it_was) {
  segment_builder builder;
  builder.header.peak_bytes = 100;
  builder.header.peak_monotonic_ns = builder.header.start_monotonic_ns + 77;
  const auto account = builder.add_account(0);
  builder.accounts[account] = {.allocations = 1,
                               .allocated_bytes = 100,
                               .frees = 1,
                               .freed_bytes = 100,
                               .temporaries = 0,
                               .reallocations = 0,
                               .peak_bytes = 100,
                               .peak_epoch = 1,
                               .id = 1};
  auto result = collected(builder);
  set_ending(result, ending::running, 5000);
  EXPECT_EQ(result.peak.time_ns, 77);

  builder.header.peak_monotonic_ns = 0;
  auto unpublished = collected(builder);
  set_ending(unpublished, ending::running, 5000);
  EXPECT_FALSE(unpublished.peak.time_ns) << "it is not now, and nobody knows when";

  builder.accounts[account].frees = 0;
  builder.accounts[account].freed_bytes = 0;
  auto lives = collected(builder);
  set_ending(lives, ending::running, 5000);
  EXPECT_EQ(lives.peak.time_ns, 5000);
}

TEST(collect_segment, places_are_inside_the_call_and_relative_to_their_module) {
  segment_builder builder;
  const auto module = builder.add_module(0x7f0000001000, 0x7f0000003000, 0x7f0000000000, "/lib/libx.so");
  builder.modules[0].build_id_bytes = 3;
  builder.modules[0].build_id[0] = 0xab;
  builder.modules[0].build_id[2] = 0x01;
  const auto outer = builder.add_node(0, 0x7f0000001234, module);
  const auto at_signal = builder.add_node(outer, 0x7f0000001500 | wire::place_exact_address, module);
  const auto outside = builder.add_node(at_signal, 0x5000, module);
  const auto beyond = builder.add_node(outside, 0x7f0000003001, module);
  builder.accounts[builder.add_account(beyond)].allocations = 1;
  const auto result = collected(builder);
  ASSERT_EQ(result.nodes.size(), 5u);
  const auto place = [&](std::uint32_t node) { return result.locations[result.nodes[node].location]; };
  EXPECT_EQ(place(1).address, 0x1233u);
  EXPECT_EQ(place(1).module, 0u);
  // Bit 47 is the mark, so the address itself loses nothing that a user-space address has.
  EXPECT_EQ(place(2).address, 0x1500u);
  EXPECT_EQ(place(3).address, 0x4fffu);
  EXPECT_EQ(place(3).module, none);
  EXPECT_EQ(place(4).address, 0x7f0000003000u);
  EXPECT_EQ(place(4).module, none);
  EXPECT_EQ(result.nodes[3].parent, 2u);
  EXPECT_EQ(result.modules[0].build_id, "ab0001");
  EXPECT_EQ(result.modules[0].path, "/lib/libx.so");
}

TEST(collect_segment, one_location_for_a_place_that_many_stacks_share) {
  segment_builder builder;
  const auto first = builder.add_node(builder.add_node(0, 0x1000), 0x9000);
  const auto second = builder.add_node(builder.add_node(0, 0x2000), 0x9000);
  builder.accounts[builder.add_account(first)].allocations = 1;
  builder.accounts[builder.add_account(second)].allocations = 1;
  builder.places[builder.nodes[second].place].where |= wire::place_unloaded;
  const auto result = collected(builder);
  EXPECT_EQ(result.nodes.size(), 5u);
  EXPECT_EQ(result.locations.size(), 3u);
}

TEST(collect_segment, nodes_of_one_place_and_parent_are_one) {
  segment_builder builder;
  const auto outer = builder.add_node(0, 0x1000), again = builder.add_node(0, 0x1000);
  const auto inner = builder.add_node(outer, 0x2000), same = builder.add_node(again, 0x2000);
  const auto other = builder.add_node(again, 0x3000);
  for (const auto node : {inner, same, other}) builder.accounts[builder.add_account(node)].allocations = 1;
  const auto result = collected(builder);
  EXPECT_EQ(result.nodes.size(), 4u);
  ASSERT_EQ(result.stacks.size(), 2u);  // accounts of one stack are one
  EXPECT_EQ(result.stacks[0].count.allocations, 2u);
  EXPECT_NE(result.stacks[0].node, result.stacks[1].node);
  EXPECT_EQ(result.nodes[result.stacks[1].node].parent, result.nodes[result.stacks[0].node].parent);
}

TEST(collect_segment, nodes_that_are_not_there_yet_do_not_break_a_stack) {
  segment_builder builder;
  const auto blank = builder.add_node(builder.add_node(0, 0x1000), 0);
  const auto inner = builder.add_node(blank, 0x3000);
  const auto orphan = builder.add_node(55, 0x4000);
  builder.accounts[builder.add_account(inner)].allocations = 1;
  builder.accounts[builder.add_account(orphan)].allocations = 1;
  builder.accounts[builder.add_account(77)].allocations = 1;
  const auto result = collected(builder);
  ASSERT_EQ(result.stacks.size(), 3u);
  EXPECT_EQ(result.nodes.size(), 4u);  // root, 0x1000, 0x3000 below it, the orphan below the root
  EXPECT_EQ(result.nodes[result.stacks[0].node].parent, 1u);
  EXPECT_EQ(result.nodes[result.stacks[1].node].parent, 0u);
  EXPECT_EQ(result.stacks[2].node, 0u);
}

TEST(collect_segment, a_later_look_sees_what_was_not_yet_written_at_the_first) {
  segment_builder builder;
  const auto node = builder.add_node(0, 0x1000);
  const auto written = builder.nodes[node];
  builder.nodes[node] = {};
  const memory_file file(builder.bytes());
  const segment_file segment(file.path());
  segment_copy copy;
  refresh_segment(segment, copy);
  ASSERT_EQ(copy.nodes[node].place, 0u);
  const auto at = static_cast<off_t>(segment.header().nodes.offset + node * sizeof written);
  ASSERT_EQ(::pwrite(file.fd(), &written, sizeof written, at), static_cast<ssize_t>(sizeof written));
  refresh_segment(segment, copy);
  EXPECT_EQ(copy.nodes[node].place, written.place);
}

TEST(collect_segment, reads_threads_sizes_errors_and_losses) {
  segment_builder builder;
  builder.add_thread(11, "worker-number-15").allocations = 4;
  builder.threads.back().state = wire::thread_state::ended;
  builder.threads.back().end_ns = builder.header.start_monotonic_ns + 5;
  builder.writers.resize(2);
  builder.writers[0].sizes[0] = 1;
  builder.writers[0].sizes[5] = 2;
  builder.writers[1].sizes[5] = 3;
  const auto account = builder.add_account(0);
  builder.accounts[account].allocations = 10;
  builder.add_error(wire::error_kind::overflow, account, 2);
  builder.add_error(static_cast<wire::error_kind>(9), account, 2);
  builder.add_error(wire::error_kind::mismatch, 1000, 2);
  builder.header.losses[static_cast<std::size_t>(wire::loss::foreign_frees)] = 8;
  builder.header.large_blocks = 4;
  const auto result = collected(builder);
  ASSERT_EQ(result.threads.size(), 1u);
  EXPECT_EQ(result.threads[0].name, "worker-number-1");
  EXPECT_EQ(result.threads[0].end_ns, 5);
  ASSERT_EQ(result.sizes.size(), 2u);
  EXPECT_EQ(result.sizes[0].to, 0u);
  EXPECT_EQ(result.sizes[1].from, 16u);
  EXPECT_EQ(result.sizes[1].to, 31u);
  EXPECT_EQ(result.sizes[1].allocations, 5u);
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors[0].kind, "overflow");
  EXPECT_EQ(result.profiler.losses, (std::map<std::string, std::uint64_t>{{"foreign_frees", 8}}));
  EXPECT_EQ(result.profiler.tag_bytes, 8u * (10 - 4));
}

TEST(collect_segment, a_killed_process_is_lost_and_its_duration_is_the_last_known_moment) {
  segment_builder builder;
  builder.add_thread(1, "main").start_ns = builder.header.start_monotonic_ns + 123;
  const auto result = collected(builder);
  EXPECT_EQ(result.process.ended, ending::lost);
  EXPECT_EQ(result.process.duration_ns, 123);
}

TEST(collect_segment, a_process_that_maps_the_segment_still_runs) {
  segment_builder builder;
  builder.header.pid = static_cast<std::uint32_t>(::getpid());
  builder.header.start_monotonic_ns = UINT64_MAX / 4;  // long after this process began
  const memory_file file(builder.bytes());
  EXPECT_EQ(collect_segment(file.path()).process.ended, ending::exited);  // it lives, but as another image
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, file.fd(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(collect_segment(file.path()).process.ended, ending::running);
  ::munmap(mapped, 4096);
}

}  // namespace
}  // namespace heapledger::collect

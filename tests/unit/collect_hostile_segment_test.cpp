// Segments that were cut off, torn or made to harm. Each must end in one line, or in a profile that is consistent.
#include <gtest/gtest.h>

#include "segment_builder.hpp"
#include "tool/collect/books.hpp"
#include "tool/collect/memory_map.hpp"
#include "tool/collect/segment.hpp"
#include "tool/profile/error.hpp"
#include "tool/profile/payload.hpp"

namespace heapledger::collect {
namespace {

using testing::memory_file;
using testing::segment_builder;

std::string error_of(const std::string& bytes) {
  const memory_file file(bytes);
  try {
    collect_segment(file.path());
  } catch (const input_error& error) {
    return error.what();
  }
  return {};
}

std::string error_with(void (*change)(wire::segment_header&)) {
  segment_builder builder;
  builder.accounts[builder.add_account(builder.add_node(0, 0x1000))].allocations = 1;
  builder.change_header = change;
  return error_of(builder.bytes());
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(hostile_segment, an_untouched_one_is_fine) {
  EXPECT_EQ(error_with([](wire::segment_header&) {}), "");
}

TEST(hostile_segment, what_is_no_segment_is_refused) {
  EXPECT_SAYS(error_of(""), "not a segment");
  EXPECT_SAYS(error_of(std::string(100, 'x')), "not a segment");
  EXPECT_SAYS(error_of(std::string(100000, 'x')), "magic");
  EXPECT_SAYS(error_with([](auto& header) { header.magic ^= 1; }), "magic");
  EXPECT_SAYS(error_with([](auto& header) { header.version = 99; }), "version 99");
  EXPECT_SAYS(error_with([](auto& header) { header.header_size = 4096; }), "header of 4096");
  EXPECT_THROW(collect_segment("/dev/null"), input_error);
  EXPECT_THROW(collect_segment("/"), input_error);
  EXPECT_THROW(collect_segment("/nonexistent/1-0.hls"), input_error);
}

TEST(hostile_segment, regions_must_lie_in_the_file_and_apart) {
  EXPECT_SAYS(error_with([](auto& header) { header.nodes.offset = 0; }), "region of nodes");
  EXPECT_SAYS(error_with([](auto& header) { header.nodes.offset += 8; }), "region of nodes");
  EXPECT_SAYS(error_with([](auto& header) { header.cells.offset = ~std::uint64_t{0} << 12; }), "region of cells");
  EXPECT_SAYS(error_with([](auto& header) { header.cells.capacity = ~std::uint64_t{0}; }), "region of cells");
  EXPECT_SAYS(error_with([](auto& header) { header.accounts.offset = header.nodes.offset; }), "overlap");
  EXPECT_SAYS(error_with([](auto& header) { header.places.offset -= 4096; }), "overlap");
  EXPECT_SAYS(error_with([](auto& header) { header.nodes.capacity += 4096; }), "overlap");
}

TEST(hostile_segment, counts_must_fit_their_capacity) {
  EXPECT_SAYS(error_with([](auto& header) { header.node_count = UINT32_MAX; }), "nodes where");
  EXPECT_SAYS(error_with([](auto& header) { header.account_count = UINT32_MAX; }), "accounts where");
  EXPECT_SAYS(error_with([](auto& header) { header.account_keys.capacity = 1; }), "account keys where");
  EXPECT_SAYS(error_with([](auto& header) { header.string_bytes = UINT32_MAX; }), "strings where");
}

TEST(hostile_segment, claims_beyond_the_file_or_all_reason_take_no_memory) {
  const auto far = [](wire::segment_header& header) {
    header.nodes.offset = std::uint64_t{1} << 45;
    header.nodes.capacity = std::uint64_t{1} << 40;
    header.node_count = UINT32_MAX;
  };
  EXPECT_SAYS(error_with(far), "cut off");
  segment_builder builder;
  builder.change_header = far;
  const memory_file file(builder.bytes());
  ASSERT_EQ(::ftruncate(file.fd(), (off_t{1} << 46)), 0);
  try {
    collect_segment(file.path());
    FAIL();
  } catch (const input_error& error) {
    EXPECT_SAYS(std::string(error.what()), "bytes of content");
  }
}

TEST(hostile_segment, every_cut_ends_in_a_line_or_in_a_profile) {
  segment_builder builder;
  builder.add_thread(1, "main");
  builder.accounts[builder.add_account(builder.add_node(0, 0x1000))].allocations = 1;
  const auto bytes = builder.bytes();
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1021) {
    const auto error = error_of(bytes.substr(0, cut));
    EXPECT_FALSE(cut < wire::header_bytes && error.empty()) << cut;
  }
  EXPECT_SAYS(error_of(bytes.substr(0, wire::header_bytes + 1)), "cut off");
}

TEST(hostile_segment, indices_and_text_out_of_bounds_are_harmless) {
  segment_builder builder;
  builder.add_module(0, UINT64_MAX, UINT64_MAX, "/x");
  builder.modules[0].path = UINT32_MAX;
  builder.modules[0].build_id_bytes = UINT32_MAX;
  const auto node = builder.add_node(UINT32_MAX, 0x1000, wire::place_module_mask);
  builder.nodes[0].parent = node;
  builder.accounts[builder.add_account(node)].allocations = 1;
  builder.add_cell(UINT32_MAX - 1).allocations = 1;
  builder.header.exe = UINT32_MAX;
  builder.header.command_bytes = UINT32_MAX;
  builder.header.stacks = static_cast<wire::stacks_mode>(77);
  builder.header.folds[0] = {.lock = 0,
                             .state = wire::fold_state::valid,
                             .source = UINT32_MAX,
                             .destination = UINT32_MAX,
                             .after = {},
                             .reserved = {}};
  builder.strings.pop_back();
  const memory_file file(builder.bytes());
  const auto result = collect_segment(file.path());
  EXPECT_EQ(result.totals().allocations, 1u);
  EXPECT_EQ(result.process.exe, "");
  EXPECT_EQ(result.modules[0].path, "");
  EXPECT_EQ(result.modules[0].build_id.size(), 2 * wire::build_id_capacity);
  EXPECT_EQ(result.profiler.losses.at("damaged_cells"), 1u);
}

TEST(hostile_segment, impossible_numbers_are_left_out_and_counted) {
  segment_builder builder;
  for (int i = 0; i < 8; ++i) {
    auto& cell = builder.accounts[builder.add_account(0)];
    cell.allocations = 1;
    cell.peak_epoch = builder.header.peak_epoch;
    cell.peak_bytes = std::int64_t{1} << 57;
  }
  builder.accounts[builder.add_account(0)].frees = UINT64_MAX;
  builder.accounts[builder.add_account(0)].freed_bytes = UINT64_MAX / 2;
  builder.header.peak_bytes = INT64_MAX;
  const memory_file file(builder.bytes());
  const auto result = collect_segment(file.path());
  EXPECT_EQ(result.totals().allocations, 2u);
  EXPECT_GT(result.totals().peak_bytes, 0);
  EXPECT_EQ(result.profiler.losses.at("damaged_cells"), 8u);
}

TEST(hostile_segment, places_over_time_add_up_no_impossible_number) {
  segment_builder builder;
  builder.accounts[builder.add_account(0)].allocated_bytes = std::uint64_t{1} << 58;
  builder.accounts[builder.add_account(0)].allocated_bytes = 1;
  builder.accounts[builder.add_account(0)].freed_bytes = std::uint64_t{1} << 63;
  const memory_file file(builder.bytes());
  const auto live = live_by_account(copy_books(segment_file(file.path())));
  EXPECT_EQ(std::vector(live.end() - 3, live.end()), (std::vector<std::int64_t>{std::int64_t{1} << 58, 0, 0}));
}

// Between what a process can do and what a reader takes there is no number that blocks the profile.
TEST(hostile_segment, one_stray_store_does_not_cost_the_profile) {
  for (int bit = 0; bit < 64; ++bit) {
    segment_builder builder;
    builder.accounts[builder.add_account(builder.add_node(0, 0x1000))].allocations = 1;
    auto& hit = builder.accounts[builder.add_account(builder.add_node(0, 0x2000))];
    hit.allocations = 1;
    hit.allocated_bytes = hit.freed_bytes = std::uint64_t{1} << bit;
    builder.add_thread(7, "hit").allocated_bytes = std::uint64_t{1} << bit;
    builder.header.large_blocks = std::uint64_t{1} << bit;
    const memory_file file(builder.bytes());
    auto result = collect_segment(file.path());
    EXPECT_NO_THROW(format::encode(result)) << bit;
    EXPECT_EQ(result.profiler.losses["damaged_cells"], bit > 58 ? 1U : 0U) << bit;
    EXPECT_EQ(result.profiler.losses["damaged_threads"], bit > 58 ? 1U : 0U) << bit;
  }
}

TEST(hostile_segment, a_sample_that_cannot_be_is_none) {
  const memory_file file(segment_builder().bytes());
  const segment_file segment(file.path());
  quick_totals totals;
  totals.allocations = totals.allocated_bytes = std::uint64_t{1} << 58;
  EXPECT_TRUE(totals.are_possible());
  const auto map = to_memory_map({}, segment.header(), totals, 0);
  profile p;
  p.memory = map;
  EXPECT_NO_THROW(format::check(p));
  totals.freed_bytes = totals.allocated_bytes + 1;
  EXPECT_FALSE(totals.are_possible());
}

}  // namespace
}  // namespace heapledger::collect

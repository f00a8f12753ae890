#include <gtest/gtest.h>

#include <algorithm>

#include "collected.hpp"
#include "segment_builder.hpp"
#include "tool/analyse/scopes.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

using testing::collected;
using testing::segment_builder;
using path = std::vector<std::string>;

std::uint32_t add_account(segment_builder& builder, std::uint32_t node, std::uint32_t scope,
                          std::uint64_t allocations) {
  const auto account = builder.add_account(node);
  builder.account_keys[account].scope = scope;
  builder.accounts[account].allocations = allocations;
  builder.accounts[account].allocated_bytes = 10 * allocations;
  return account;
}

TEST(collect_scopes, accounts_of_one_kind_and_stack_are_one) {
  segment_builder builder;
  const auto request = builder.add_scope(0, "request"), query = builder.add_scope(request, "query");
  const auto here = builder.add_node(0, 0x1000), again = builder.add_node(0, 0x1000);
  const auto there = builder.add_node(0, 0x2000);
  add_account(builder, here, 0, 1);
  const auto first = add_account(builder, here, query, 2);
  const auto second = add_account(builder, again, query, 3);  // of a query that ran at the same time
  add_account(builder, there, query, 4);
  add_account(builder, here, request, 5);
  builder.add_error(wire::error_kind::double_free, second, 1).allocated_node = again;
  const auto result = collected(builder);
  EXPECT_EQ(result.totals().allocations, 15u);
  std::vector<std::pair<path, std::uint64_t>> found;
  for (const auto& stack : result.stacks) found.emplace_back(stack.scope, stack.count.allocations);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::pair<path, std::uint64_t>>{
                       {{}, 1}, {{"request"}, 5}, {{"request", "query"}, 4}, {{"request", "query"}, 5}}));
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors[0].stack, first);
}

// 500 bytes that are gone.
void add_freed(segment_builder& builder, std::uint32_t scope) {
  const auto account = builder.add_account(builder.add_node(0, 0x1000));
  builder.account_keys[account].scope = scope;
  auto& cell = builder.accounts[account];
  cell.allocations = cell.frees = 2;
  cell.allocated_bytes = cell.freed_bytes = 500;
}

TEST(collect_scopes, tells_what_is_known_of_a_kind) {
  segment_builder builder;
  const auto request = builder.add_scope(0, "request");
  add_freed(builder, request);
  auto& scope = builder.scopes[request];
  scope.opened = 7;
  scope.closed = 6;
  scope.refusals = 5;
  scope.overdrafts = 4;
  scope.peak_bytes = 300;
  scope.limit[0] = 1000;
  const auto result = collected(builder);
  ASSERT_EQ(result.scopes.size(), 1u);
  const scope_info expected{.path = {"request"},
                            .opened = 7,
                            .closed = 6,
                            .refusals = 5,
                            .overdrafts = 4,
                            .peak_bytes = 300,
                            .live_bytes_limit = 1000,
                            .allocated_bytes_limit = {},
                            .allocations_limit = {}};
  EXPECT_EQ(result.scopes[0], expected);
}

TEST(collect_scopes, a_peak_of_what_was_reserved_is_no_higher_than_all_that_was_allocated) {
  segment_builder builder;
  const auto limited = builder.add_scope(0, "limited"), below = builder.add_scope(limited, "below");
  add_freed(builder, below);
  builder.scopes[limited].peak_bytes = builder.scopes[below].peak_bytes = 300'000;
  builder.scopes[limited].limit[0] = 1'000'000;
  EXPECT_EQ(collected(builder).scopes[0].peak_bytes, 500);
  EXPECT_EQ(collected(builder).scopes[1].peak_bytes, 300'000) << "no limit: it was told";
  builder.header.losses[static_cast<std::size_t>(wire::loss::accounts_full)] = 1;
  EXPECT_EQ(collected(builder).scopes[0].peak_bytes, 300'000) << "not all was booked where it belongs";
}

TEST(collect_scopes, what_was_opened_once_peaked_no_lower_than_what_lives_in_it_and_below) {
  segment_builder builder;
  const auto outer = builder.add_scope(0, "outer"), inner = builder.add_scope(outer, "inner");
  add_account(builder, builder.add_node(0, 0x1000), outer, 10);
  add_account(builder, builder.add_node(0, 0x2000), inner, 20);
  builder.scopes[outer].opened = builder.scopes[inner].opened = 1;
  const auto once = collected(builder);
  EXPECT_EQ(once.scopes[0].peak_bytes, 300);
  EXPECT_EQ(once.scopes[1].peak_bytes, 200);
  builder.scopes[inner].opened = 2;
  EXPECT_EQ(collected(builder).scopes[1].peak_bytes, 0) << "they may be of two, and the peak is one's";
}

TEST(collect_scopes, freers_of_all_writers_add_up) {
  segment_builder builder;
  const auto request = builder.add_scope(0, "request"), query = builder.add_scope(request, "query");
  const auto add = [&builder](std::uint32_t owner, std::uint32_t by, std::uint64_t frees) {
    wire::freer row{};
    row.owner = owner;
    row.by = by;
    row.frees = frees;
    row.freed_bytes = 10 * frees;
    row.late_frees = 1;
    row.late_bytes = 5;
    builder.freers.push_back(row);
  };
  builder.freers[0].frees = 1;  // what found no room
  add(query, request, 2);
  add(query, 0, 3);
  add(query, request, 4);
  add(query, 77, 5);  // no such scope: as good as none
  add(request, query, 0);
  const auto result = collected(builder);
  const std::vector<freer_info> expected = {
      {.owner = {}, .by = {}, .frees = 1, .freed_bytes = 0, .late_frees = 0, .late_bytes = 0},
      {.owner = {"request", "query"}, .by = {}, .frees = 8, .freed_bytes = 80, .late_frees = 2, .late_bytes = 10},
      {.owner = {"request", "query"},
       .by = {"request"},
       .frees = 6,
       .freed_bytes = 60,
       .late_frees = 2,
       .late_bytes = 10}};
  EXPECT_EQ(result.freers, expected);
}

TEST(collect_scopes, hostile_tables_are_harmless) {
  segment_builder builder;
  const auto node = builder.add_node(0, 0x1000);
  const auto own_child = builder.add_scope(0, "own child");
  builder.scopes[own_child].parent = own_child;
  builder.scopes[builder.add_scope(7777, "nobody's child")].peak_bytes = INT64_MIN;
  builder.scopes[builder.add_scope(0, "x")].name = UINT32_MAX;
  builder.scopes.back().limit[1] = INT64_MAX;
  std::uint32_t deep = 0;
  for (int i = 0; i < 200; ++i) deep = builder.add_scope(deep, "deeper");
  add_account(builder, node, own_child, 1);
  add_account(builder, node, 100'000, 2);
  add_account(builder, node, deep, 4);
  const auto result = collected(builder);
  EXPECT_EQ(result.totals().allocations, 7u);
  for (const auto& scope : result.scopes) EXPECT_LE(scope.path.size(), 64u);
  for (const auto& stack : result.stacks) EXPECT_LE(stack.scope.size(), 64u);
}

TEST(collect_scopes, paths_take_bounded_memory) {
  segment_builder builder;
  std::uint32_t deep = 0;
  for (int i = 0; i < 64; ++i) deep = builder.add_scope(deep, "deeper");
  for (std::uint32_t i = 0; i < 300'000; ++i) add_account(builder, builder.add_node(0, i + 2), deep, 1);
  EXPECT_THROW(collected(builder), input_error);
}

TEST(collect_scopes, kinds_take_bounded_memory) {
  segment_builder builder;
  std::uint32_t deep = 0;
  for (int i = 0; i < 63; ++i) deep = builder.add_scope(deep, std::string(255, 's'));
  const auto last = builder.scopes.back();
  EXPECT_EQ(collected(builder).scopes.size(), 63u);
  builder.scopes.resize(60'000, last);
  for (std::size_t i = 64; i < builder.scopes.size(); ++i) builder.scopes[i].parent = deep;
  EXPECT_THROW(collected(builder), input_error);
}

TEST(analyse_scopes, descendants_add_up) {
  profile p;
  p.nodes.resize(1);
  const auto stack = [](path scope, std::uint64_t allocations) {
    stack_entry entry;
    entry.scope = std::move(scope);
    entry.count.allocations = allocations;
    return entry;
  };
  p.stacks = {stack({}, 1), stack({"a", "b", "c"}, 2), stack({"a", "d"}, 4), stack({"a"}, 8), stack({"e"}, 16)};
  p.scopes = {{.path = {"f"}, .opened = 1}};
  const auto rows = analyse::scope_rows(p);
  std::vector<std::tuple<path, std::uint64_t, std::uint64_t>> found;
  for (const auto& row : rows) found.emplace_back(row.path, row.alone.allocations, row.all.allocations);
  EXPECT_EQ(found, (std::vector<std::tuple<path, std::uint64_t, std::uint64_t>>{{{}, 1, 1},
                                                                                {{"a"}, 8, 14},
                                                                                {{"a", "b"}, 0, 2},
                                                                                {{"a", "b", "c"}, 2, 2},
                                                                                {{"a", "d"}, 4, 4},
                                                                                {{"e"}, 16, 16},
                                                                                {{"f"}, 0, 0}}));
  EXPECT_EQ(rows.back().info, &p.scopes[0]);
  EXPECT_TRUE(analyse::scope_rows({}).empty());
}

}  // namespace
}  // namespace heapledger::collect

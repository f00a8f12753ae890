#include "tool/analyse/function_tree.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "report_sample.hpp"
#include "tool/analyse/frames.hpp"

namespace heapledger::analyse {
namespace {

using sample::booked;
using sample::profile_builder;
using sample::sample_frame;

const sample_frame op_new{"operator new(unsigned long)", "", 0, "/lib/libstdc++.so.6"};
const sample_frame main_frame{"main", "main.cpp", 3};

std::string function_path(const function_tree& tree, std::uint32_t node) {
  std::string path;
  for (; node != 0; node = tree.nodes[node].parent) {
    path = tree.functions[tree.nodes[node].function].name + (path.empty() ? "" : ";") + path;
  }
  return path;
}

std::uint32_t node_of(const function_tree& tree, std::uint32_t place) {
  std::uint32_t node = 0;
  while (node + 1 < tree.nodes.size() && tree.nodes[node + 1].first_place <= place) ++node;
  return node;
}

// Every stack must lead to the frames that a plain walk over it gives.
void expect_stacks_kept(const profile& p) {
  const function_tree tree = build_function_tree(p);
  ASSERT_EQ(tree.stack_places.size(), p.stacks.size());
  for (std::size_t i = 0; i < p.stacks.size(); ++i) {
    std::uint32_t place = tree.stack_places[i];
    for (const auto& frame : expand_stack(p, p.stacks[i].node)) {
      ASSERT_NE(place, 0U);
      const tree_line& line = tree.lines[tree.places[place].line];
      const tree_function& function = tree.functions[line.function];
      EXPECT_EQ(function.kind == function_kind::named ? function.name : "", function_name(p, frame));
      EXPECT_EQ(line.line, line_number(p, frame));
      EXPECT_EQ(line.file == none ? "" : p.strings[line.file], file_name(p, frame));
      EXPECT_EQ(function.module, module_index(p, frame));
      EXPECT_EQ(line.inlined, frame.inlined);
      EXPECT_EQ(tree.nodes[node_of(tree, place)].function, line.function);
      place = tree.places[place].parent;
    }
    for (auto scope = p.stacks[i].scope.rbegin(); scope != p.stacks[i].scope.rend(); ++scope) {
      const tree_function& function = tree.functions[tree.lines[tree.places[place].line].function];
      EXPECT_EQ(function.kind, function_kind::scope);
      EXPECT_EQ(function.name, *scope);
      place = tree.places[place].parent;
    }
    EXPECT_EQ(place, 0U);
  }
}

void expect_depth_first(const function_tree& tree) {
  std::vector<std::uint32_t> path = {0};
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) {
    ASSERT_LE(tree.nodes[i].depth, path.size());
    path.resize(tree.nodes[i].depth);
    EXPECT_EQ(tree.nodes[i].parent, path.back());
    EXPECT_GT(tree.nodes[i].first_place, tree.nodes[i - 1].first_place);
    path.push_back(i);
  }
}

profile several_lines() {
  profile_builder builder;
  const sample_frame inner{"inner", "lib.hpp", 7};
  const sample_frame outer{"outer", "lib.cpp", 40, "/usr/bin/program", {inner}};
  builder.stack({op_new, {"f", "f.cpp", 1}, {"main", "main.cpp", 3}}, booked(1, 10, 0, 0, 10));
  builder.stack({op_new, {"f", "f.cpp", 2}, {"main", "main.cpp", 3}}, booked(1, 20, 0, 0, 20));
  builder.stack({op_new, {"f", "f.cpp", 1}, {"main", "main.cpp", 9}}, booked(1, 30, 0, 0, 30));
  builder.stack({op_new, outer, {"f", "f.cpp", 1}, {"main", "main.cpp", 9}}, booked(1, 40, 0, 0, 40));
  builder.stack({{"", "", 0}, main_frame}, booked(1, 50, 0, 0, 50));
  builder.stack({}, booked(1, 60, 0, 0, 60));
  builder.edit().stacks[2].scope = {"request", "query"};
  builder.edit().stacks[3].scope = {"request"};
  return builder.build();
}

TEST(function_tree, keeps_every_stack_frame_by_frame) {
  expect_stacks_kept(several_lines());
}

TEST(function_tree, has_one_node_for_a_function_below_a_caller) {
  const function_tree tree = build_function_tree(several_lines());
  expect_depth_first(tree);
  std::map<std::string, int> paths;
  for (std::uint32_t i = 1; i < tree.nodes.size(); ++i) ++paths[function_path(tree, i)];
  for (const auto& [path, times] : paths) EXPECT_EQ(times, 1) << path;
  EXPECT_EQ(paths.count("main;f"), 1U);
  EXPECT_EQ(paths.count("request;main;f;outer;inner;operator new(unsigned long)"), 1U);
  EXPECT_EQ(paths.count("request;query;main;f;operator new(unsigned long)"), 1U);
}

TEST(function_tree, knows_machinery) {
  const function_tree tree = build_function_tree(several_lines());
  for (const auto& line : tree.lines) {
    EXPECT_EQ(line.machinery, tree.functions[line.function].name == "operator new(unsigned long)");
  }
}

TEST(function_tree, of_nothing_is_a_root) {
  const function_tree tree = build_function_tree(profile_builder().build());
  EXPECT_EQ(tree.nodes.size(), 1U);
  EXPECT_EQ(tree.places.size(), 1U);
}

}  // namespace
}  // namespace heapledger::analyse

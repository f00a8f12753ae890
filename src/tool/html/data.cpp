#include "tool/html/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tool/analyse/function_tree.hpp"
#include "tool/html/columns.hpp"
#include "tool/html/merge.hpp"
#include "tool/html/words.hpp"
#include "tool/report/leaks_json.hpp"
#include "tool/report/names.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::html {
namespace {

constexpr std::size_t short_name_columns = 56;
constexpr std::size_t short_address_columns = 28;

// Strings are made safe to show here, once: control characters, direction marks and bytes that are no UTF-8 become
// visible escapes, as in the text report.
class string_table {
 public:
  std::uint32_t add(std::string_view text) {
    std::string shown = report::terminal_text(text);
    const auto [found, added] = index_.try_emplace(shown, static_cast<std::uint32_t>(strings_.size()));
    if (added) strings_.push_back(std::move(shown));
    return found->second;
  }
  std::size_t size() const { return strings_.size(); }

  void write(std::string& out) const {
    put_column(out, strings_, [](const std::string& text) { return text.size(); });
    std::string all;
    for (const auto& text : strings_) all += text;
    put_bytes(out, all);
  }

 private:
  std::vector<std::string> strings_;
  std::unordered_map<std::string, std::uint32_t> index_;
};

struct function_row {
  std::uint32_t name = 0;
  std::uint32_t short_name = 0;
  std::uint32_t module = none;
  analyse::function_kind kind{};
};

struct line_row {
  analyse::tree_line line;
  std::uint32_t file = none;
};

std::uint64_t flags(const analyse::tree_line& line) {
  return (line.inlined ? 1U : 0U) | (line.machinery ? 2U : 0U);
}

void write_tree(std::string& out, const analyse::function_tree& tree) {
  std::vector<std::uint32_t> first_line(tree.functions.size(), none);
  for (std::uint32_t i = 0; i < tree.lines.size(); ++i) {
    auto& first = first_line[tree.lines[i].function];
    first = std::min(first, i);
  }
  // How far up from the node before the parent is; the root alone has no parent.
  std::uint32_t depth = 0;
  put_column(out, tree.nodes, [&](const analyse::tree_node& node) {
    const std::uint64_t up = depth + 1 - node.depth;
    depth = node.depth;
    return node.function == none ? 0 : up;
  });
  put_column(out, tree.nodes, [](const analyse::tree_node& node) {
    return node.function == none ? std::uint64_t{0} : std::uint64_t{node.function} + 1;
  });
  const auto places_of = [&](std::size_t node) {
    const std::size_t end = node + 1 < tree.nodes.size() ? tree.nodes[node + 1].first_place : tree.places.size();
    return end - tree.nodes[node].first_place;
  };
  std::size_t row = 0;
  put_column(out, tree.nodes, [&](const analyse::tree_node&) { return places_of(row++) - 1; });

  std::string lines;
  std::string parents;
  for (std::size_t node = 0; node < tree.nodes.size(); ++node) {
    const std::uint32_t parents_first = tree.nodes[tree.nodes[node].parent].first_place;
    for (std::size_t i = 0; i < places_of(node); ++i) {
      const auto& place = tree.places[tree.nodes[node].first_place + i];
      put_varint(lines, place.line == none ? 0 : place.line - first_line[tree.nodes[node].function]);
      put_varint(parents, place.parent - parents_first);
    }
  }
  put_bytes(out, lines);
  put_bytes(out, parents);
}

template <class Count>
void write_counters(std::string& out, const std::vector<std::uint32_t>& order, Count&& count) {
  const auto column = [&](auto&& stored) {
    put_column(out, order, [&](std::uint32_t index) { return stored(count(index)); });
  };
  column([](const counters& c) { return c.allocations; });
  column([](const counters& c) { return zigzag(c.live_blocks()); });
  column([](const counters& c) { return c.allocated_bytes; });
  column([](const counters& c) { return zigzag(c.live_bytes()); });
  column([](const counters& c) { return c.temporaries; });
  column([](const counters& c) { return c.reallocations; });
  column([](const counters& c) { return zigzag(c.peak_bytes); });
}

void write_stacks(std::string& out, const profile& p, const analyse::function_tree& tree,
                  const std::vector<counters>& before) {
  std::vector<std::uint32_t> order(p.stacks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t left, std::uint32_t right) {
    return tree.stack_places[left] < tree.stack_places[right];
  });
  difference place;
  difference id;
  put_column(out, order, [&](std::uint32_t index) { return place(tree.stack_places[index]); });
  put_column(out, order, [&](std::uint32_t index) { return id(p.stacks[index].id); });
  write_counters(out, order, [&](std::uint32_t index) -> const counters& { return p.stacks[index].count; });
  if (!before.empty()) {
    write_counters(out, order, [&](std::uint32_t index) -> const counters& { return before[index]; });
  }
  if (!p.process.lives_timed) return;
  const auto life = [&](std::uint32_t index) -> const lives& { return p.stacks[index].count.life; };
  put_column(out, order, [&](std::uint32_t index) { return life(index).ended; });
  put_column(out, order, [&](std::uint32_t index) { return life(index).lived.seconds; });
  put_column(out, order, [&](std::uint32_t index) { return life(index).lived.ns; });
}

// A number of the page is a double: exact as long as no sum can pass 2^53.
bool is_exact(const profile& p, const std::vector<counters>& before) {
  double bytes = 0;
  double count = 0;
  const auto add = [&](const counters& c) {
    bytes += static_cast<double>(c.allocated_bytes) + static_cast<double>(c.freed_bytes) +
             std::abs(static_cast<double>(c.peak_bytes));
    count += static_cast<double>(c.allocations) + static_cast<double>(c.frees) + static_cast<double>(c.temporaries) +
             static_cast<double>(c.reallocations);
  };
  for (const auto& stack : p.stacks) add(stack.count);
  for (const auto& c : before) add(c);
  return bytes < 0x1p53 && count < 0x1p53;
}

std::string data_of(profile p, const std::string& said, const std::vector<counters>& before, const std::string& more) {
  const auto tree = analyse::build_function_tree(p);
  string_table strings;
  std::vector<function_row> functions;
  for (const auto& function : tree.functions) {
    const std::string brief =
        function.kind == analyse::function_kind::named     ? report::short_function(function.name, short_name_columns)
        : function.kind == analyse::function_kind::address ? report::short_address(function.name, short_address_columns)
                                                           : function.name;
    functions.push_back({strings.add(function.name), strings.add(brief), function.module, function.kind});
  }
  std::vector<line_row> lines;
  std::unordered_map<std::uint32_t, std::uint32_t> files;
  for (const auto& line : tree.lines) {
    std::uint32_t file = none;
    if (line.file != none) {
      const auto [found, added] = files.try_emplace(line.file, 0);
      if (added) found->second = strings.add(p.strings[line.file]);
      file = found->second;
    }
    lines.push_back({line, file});
  }

  std::string columns;
  strings.write(columns);
  difference name;
  put_column(columns, functions, [&](const function_row& row) { return name(row.name); });
  put_column(columns, functions,
             [](const function_row& row) { return zigzag(std::int64_t{row.short_name} - row.name); });
  put_column(columns, functions, [](const function_row& row) { return static_cast<std::uint32_t>(row.module + 1); });
  put_column(columns, functions, [](const function_row& row) { return static_cast<std::uint64_t>(row.kind); });
  difference function;
  difference file;
  put_column(columns, lines, [&](const line_row& row) { return function(row.line.function); });
  put_column(columns, lines, [&](const line_row& row) { return file(static_cast<std::uint32_t>(row.file + 1)); });
  put_column(columns, lines, [](const line_row& row) { return row.line.line; });
  put_column(columns, lines, [](const line_row& row) { return flags(row.line); });
  write_tree(columns, tree);
  write_stacks(columns, p, tree, before);

  const std::string counts =
      fmt::format(R"({{"strings":{},"functions":{},"lines":{},"nodes":{},"places":{},"stacks":{}}})", strings.size(),
                  functions.size(), lines.size(), tree.nodes.size(), tree.places.size(), p.stacks.size());
  const bool exact = is_exact(p, before);
  const std::string leaks =
      p.leaks ? fmt::format("\"leaks\":{},", report::leaks_json(p, p.leaks->entries, 0)) : std::string();
  const std::string head = fmt::format(R"({{"version":1,"exact":{},"counts":{},"words":{},{}{}"report":{}}})", exact,
                                       counts, said, more, leaks, small_report(p));
  std::string data;
  put_bytes(data, head);
  return data + columns;
}

}  // namespace

std::string page_data(profile p) {
  const std::string said = words(p, p);
  return data_of(std::move(p), said, {}, {});
}

std::string page_data(profile before, profile after) {
  auto merged = merge_profiles(diff::comparison(before, after));
  const std::string said = words(merged.shown, after);
  const std::string said_before = words(before, before);
  const std::string more = fmt::format(R"("before":{{"words":{},"report":{}}},)", said_before, small_report(before));
  return data_of(std::move(merged.shown), said, merged.before, more);
}

}  // namespace heapledger::html

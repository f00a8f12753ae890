#include "tool/live/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cmath>
#include <map>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/machinery.hpp"
#include "tool/live/leak_marks.hpp"
#include "tool/live/mapped.hpp"
#include "tool/report/frame_text.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

constexpr std::size_t column_width = 11;
constexpr std::size_t least_where = 24;
constexpr std::size_t longest_function = 60;

std::int64_t rounded(double value) {
  constexpr double most = 1e18;
  return static_cast<std::int64_t>(std::llround(std::clamp(value, -most, most)));
}

// A row's words before they are put together.
struct where {
  struct frame {
    std::string name;
    std::uint32_t line = 0;
  };
  std::string scope;
  std::vector<frame> frames;
  std::string via;  // what the first of them called to allocate; empty: malloc itself

  std::string text(std::size_t width) const {
    std::string all = scope + (frames.empty() ? "(no stack)" : "");
    for (std::size_t i = 0; i < frames.size(); ++i) all += (i == 0 ? "" : " < ") + frames[i].name;
    return report::cut_right(all, width);
  }
};

where where_of(const profile& p, analyse::machinery& machinery, const stack_entry& stack, std::size_t width) {
  const auto frames = analyse::expand_stack(p, stack.node);
  const auto visible = machinery.visible(frames);
  where result;
  for (const auto& name : stack.scope)
    result.scope +=
        (result.scope.empty() ? "[" : " / ") + report::cut_right(report::terminal_text(name), longest_function);
  if (!result.scope.empty()) result.scope += "] ";
  const bool only_rust = visible.begin < visible.end && machinery.is_rust(frames[visible.begin]);
  const bool only_wrappers = visible.begin < visible.end && machinery.is_wrapper(frames[visible.begin]);
  if (visible.begin > 0 && visible.begin < visible.end)
    result.via = report::frame_name(p, frames[visible.begin - 1], longest_function);
  std::size_t used = report::columns(result.scope);
  for (std::size_t i = visible.begin; i < visible.end && used < width; ++i) {
    if (machinery.is_rust(frames[i]) && !only_rust) continue;
    if (machinery.is_wrapper(frames[i]) && !only_wrappers) continue;
    result.frames.push_back({report::frame_name(p, frames[i], longest_function), analyse::line_number(p, frames[i])});
    used += report::columns(result.frames.back().name) + 3;
  }
  return result;
}

// Rows that would look the same get the line of the first frame in which they differ, else what allocates for them.
void tell_apart(std::vector<where>& rows, const std::vector<std::size_t>& alike) {
  const auto& first = rows[alike.front()].frames;
  for (std::size_t at = 0; at < first.size(); ++at) {
    const bool differ = std::any_of(alike.begin(), alike.end(), [&](std::size_t i) {
      return at < rows[i].frames.size() && rows[i].frames[at].line != first[at].line;
    });
    if (!differ) continue;
    for (const auto i : alike)
      if (at < rows[i].frames.size() && rows[i].frames[at].line != 0)
        rows[i].frames[at].name += fmt::format(":{}", rows[i].frames[at].line);
    return;
  }
  const auto& via = rows[alike.front()].via;
  if (std::all_of(alike.begin(), alike.end(), [&](std::size_t i) { return rows[i].via == via; })) return;
  for (const auto i : alike)
    if (!rows[i].frames.empty() && !rows[i].via.empty()) rows[i].frames[0].name += " via " + rows[i].via;
}

}  // namespace

std::string growth_text(double bytes_per_second) {
  const auto bytes = rounded(bytes_per_second);
  if (bytes == 0) return "0 B";
  return (bytes > 0 ? "+" : "-") + report::bytes_text(std::abs(bytes));
}

std::string churn_text(double per_second) {
  return report::count_text(static_cast<std::uint64_t>(std::max<std::int64_t>(rounded(per_second), 0)));
}

table::table(const view& of, order by, const sample& from, std::size_t width)
    : title_(of.title), by_(by), has_rates_(from.rate.has_value()), where_width_(width) {
  const bool never = !has_rates_ && from.state == watched::ended;
  for (const auto& each : of.columns)
    if (!never || !each.is_rate || each.sorts == by) columns_.push_back(&each);
  const auto worth = [&](const column* each) { return each->sorts == by ? INT_MAX : each->keep; };
  while (columns_.size() > 1 && columns_.size() * column_width + least_where > width)
    columns_.erase(std::min_element(columns_.begin(), columns_.end(),
                                    [&](const auto* a, const auto* b) { return worth(a) < worth(b); }));
  const auto used = columns_.size() * column_width + 2;
  where_width_ = width > used ? width - used : 0;
}

std::string table::heading() const {
  std::string text;
  for (const auto* each : columns_)
    text += fmt::format("{:>{}}", fmt::format("{}{}", each->sorts == by_ ? "*" : "", each->title), column_width);
  return text + "  " + title_;
}

std::string table::line(const row& of, const std::string& where) const {
  std::string text;
  for (const auto* each : columns_)
    text += fmt::format("{:>{}}", each->is_rate && !has_rates_ ? "-" : each->text(of), column_width);
  return text + "  " + report::cut_right(mark_text(of) + where, where_width_);
}

std::string attached_text(const process_info& process) {
  return process.attached_after_ns <= 0
             ? std::string()
             : fmt::format(", attached {} after its start", report::seconds_text(process.attached_after_ns));
}

std::vector<std::string> where_texts(const profile& p, std::size_t width) {
  analyse::machinery machinery(p);
  std::vector<where> rows;
  std::map<std::string, std::vector<std::size_t>> alike;
  for (std::size_t i = 0; i < p.stacks.size(); ++i) {
    rows.push_back(where_of(p, machinery, p.stacks[i], width));
    alike[rows.back().text(width)].push_back(i);
  }
  for (const auto& [text, group] : alike)
    if (group.size() > 1) tell_apart(rows, group);
  std::vector<std::string> texts;
  for (const auto& each : rows) texts.push_back(each.text(width));
  return texts;
}

std::vector<std::string> where_texts(const sample& from, subject what, std::span<const std::uint32_t> rows,
                                     const profile& described, std::size_t width) {
  const bool are_stacks = view_of(what).are_stacks;
  const auto& all = rows_of(from, what);
  std::vector<std::string> texts;
  if (are_stacks) texts = where_texts(described, width);
  texts.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& of = all[rows[i]];
    texts[i] = report::cut_right(are_stacks ? mapped_kind_text(of) + texts[i] : report::terminal_text(of.name), width);
  }
  return texts;
}

std::vector<std::string> frame_lines(const profile& p, std::size_t stack, std::size_t width) {
  analyse::machinery machinery(p);
  const auto frames = analyse::expand_stack(p, p.stacks[stack].node);
  const auto visible = machinery.visible(frames);
  std::vector<std::string> lines;
  for (std::size_t i = visible.begin; i < visible.end; ++i) {
    const std::uint32_t number = analyse::line_number(p, frames[i]);
    const std::array<std::uint32_t, 1> numbers = {number};
    const std::size_t place_width = std::clamp<std::size_t>(width / 3, 12, 50);
    const auto place = report::frame_place(p, frames[i], {numbers.data(), number == 0 ? 0U : 1U}, false, place_width);
    const auto name = report::frame_name(p, frames[i], width > place_width + 2 ? width - place_width - 2 : 8);
    lines.push_back(report::cut_right(report::padded(name, width - std::min(width, place_width)) + place, width));
  }
  if (lines.empty()) lines.emplace_back("(no stack)");
  return lines;
}

std::string sparkline(const std::vector<std::int64_t>& values, std::size_t width, bool unicode) {
  constexpr std::array blocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr std::array letters = {"_", ".", ",", "-", "=", "+", "*", "#"};
  const std::size_t count = std::min(values.size(), width);
  const auto first = values.end() - static_cast<std::ptrdiff_t>(count);
  if (count == 0) return {};
  const auto [low, high] = std::minmax_element(first, values.end());
  const double range = static_cast<double>(*high) - static_cast<double>(*low);
  std::string picture;
  for (auto at = first; at != values.end(); ++at) {
    const double share = range > 0 ? (static_cast<double>(*at) - static_cast<double>(*low)) / range : 0;
    const auto level = std::min<std::size_t>(static_cast<std::size_t>(share * 8), 7);
    picture += (unicode ? blocks : letters)[level];
  }
  return picture;
}

}  // namespace heapledger::live

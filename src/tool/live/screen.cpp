#include "tool/live/screen.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>

#include "tool/analyse/frames.hpp"
#include "tool/live/leak_marks.hpp"
#include "tool/live/mapped.hpp"
#include "tool/live/table.hpp"
#include "tool/report/command_text.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

constexpr std::size_t history_limit = 512;
constexpr std::size_t searched_limit = 2000;  // that a search looks at, in the order shown
constexpr std::size_t least_lines = 3;

constexpr const char* help_lines[] = {
    "l  by live bytes          up, down, page, home, end  move the bar",
    "g  by growth a second     Enter, right  unfold the stack; left folds it",
    "c  by churn: allocations  /  show only what has this in a name; Esc: all",
    "m  by bytes at the peak   p, space  pause",
    "w  what leaks, where a leak watch is on",
    "Tab, 1 to 5  another view                 q  leave",
    "",
    "The program is not stopped and pays nothing: its counters are read from outside.",
    "Rates are since the line before. Any key goes back.",
};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return result;
}

bool has_name(const profile& p, std::size_t stack, const std::string& wanted) {
  for (const auto& name : p.stacks[stack].scope)
    if (lower(name).find(wanted) != std::string::npos) return true;
  bool found = false;
  analyse::walk_stack(p, p.stacks[stack].node, [&](const analyse::frame_ref& frame) {
    found = lower(analyse::function_name(p, frame)).find(wanted) != std::string::npos ||
            lower(analyse::file_name(p, frame)).find(wanted) != std::string::npos;
    return !found;
  });
  return found;
}

}  // namespace

screen::screen(source& from, order by, subject what, bool unicode)
    : source_(from), by_(by), what_(what), unicode_(unicode) {
  take();
}

void screen::take() {
  if (paused_ && last_ != nullptr) return;
  last_ = &source_.take();
  history_.push_back(last_->totals.live_bytes());
  if (history_.size() > history_limit) history_.erase(history_.begin());
}

std::uint32_t screen::id_of(std::size_t at) const {
  return rows_of(*last_, what_)[ranked_[at]].id;
}

void screen::choose_rows() {
  const auto& rows = rows_of(*last_, what_);
  ranked_ = ranked(rows, by_, search_.empty() ? rows_limit_ : searched_limit);
  if (!search_.empty()) {
    const auto wanted = lower(search_);
    std::vector<std::uint32_t> kept;
    const profile* described = view_of(what_).are_stacks ? &source_.describe(what_, ranked_) : nullptr;
    for (std::size_t i = 0; i < ranked_.size(); ++i) {
      const bool is_kept = described != nullptr ? has_name(*described, i, wanted)
                                                : lower(rows[ranked_[i]].name).find(wanted) != std::string::npos;
      if (is_kept) kept.push_back(ranked_[i]);
    }
    ranked_ = std::move(kept);
    if (ranked_.size() > rows_limit_) ranked_.resize(rows_limit_);
  }
  if (ranked_.empty()) {
    selected_at_ = first_ = 0;
    return;
  }
  selected_at_ = std::min(selected_at_, ranked_.size() - 1);
  if (selected_) {
    const auto found = std::find_if(ranked_.begin(), ranked_.end(), [&](auto i) { return rows[i].id == *selected_; });
    if (found != ranked_.end()) selected_at_ = static_cast<std::size_t>(found - ranked_.begin());
  }
}

std::vector<screen_line> screen::head(std::size_t columns) const {
  const auto& total = last_->totals;
  const auto& process = source_.process();
  std::vector<screen_line> lines;
  const char* state = last_->state == watched::ended         ? "  ended"
                      : last_->state == watched::other_image ? "  went on as another program"
                      : paused_                              ? "  paused"
                                                             : "";
  const auto right = fmt::format("  {}{}{}", report::seconds_text(last_->time_ns), attached_text(process), state);
  const auto left = fmt::format("{} {}", process.pid, report::command_text(process.command, process.exe));
  const auto room = columns > report::columns(right) ? columns - report::columns(right) : 0;
  lines.push_back({report::padded(report::cut_right(left, room), room) + right, look::bold});
  std::string live = fmt::format("live {:>10} in {} block{}", report::bytes_text(total.live_bytes()),
                                 report::signed_count_text(total.live_blocks()), total.live_blocks() == 1 ? "" : "s");
  if (last_->rate) live += fmt::format("  {}/s", growth_text(last_->rate->live_bytes));
  live += fmt::format("   peak {}", report::bytes_text(total.peak_bytes));
  if (last_->rss_bytes)
    live += fmt::format("   RSS {}", report::bytes_text(*last_->rss_bytes)) + mapped_share_text(*last_);
  live += leaks_summary(*last_);
  if (last_->rate) live += fmt::format("   {} allocations/s", churn_text(last_->rate->allocations));
  lines.push_back({live, look::plain});
  const std::size_t width = std::min<std::size_t>(columns > 30 ? columns - 26 : 0, history_limit);
  const auto shown = std::min(width, history_.size());
  const auto [low, high] = std::minmax_element(history_.end() - static_cast<std::ptrdiff_t>(shown), history_.end());
  if (shown > 1)
    lines.push_back({sparkline(history_, width, unicode_) +
                         fmt::format("  {} to {}", report::bytes_text(*low), report::bytes_text(*high)),
                     look::growing});
  return lines;
}

std::vector<screen_line> screen::body(std::size_t room, std::size_t columns) {
  choose_rows();
  page_ = std::max<std::size_t>(room, 1);
  if (ranked_.empty())
    return {
        {fmt::format("  {}", search_.empty() ? view_of(what_).empty : "nothing here has that in a name"), look::faint}};
  if (selected_at_ < first_) first_ = selected_at_;
  first_ = std::min(first_, ranked_.size() - 1);
  const table columns_of(view_of(what_), by_, *last_, columns);
  const auto& rows = rows_of(*last_, what_);
  for (;;) {
    const std::size_t count = std::min(room, ranked_.size() - first_);
    const std::vector<std::uint32_t> on_screen(ranked_.begin() + static_cast<std::ptrdiff_t>(first_),
                                               ranked_.begin() + static_cast<std::ptrdiff_t>(first_ + count));
    const bool stacks = view_of(what_).are_stacks;
    static const profile nothing;
    const profile& described = stacks ? source_.describe(what_, on_screen) : nothing;
    const auto where = where_texts(*last_, what_, on_screen, described, columns_of.where_width());
    std::vector<screen_line> lines;
    std::size_t selected_ends = 0;
    for (std::size_t i = 0; i < count && lines.size() < room + page_; ++i) {
      const auto& row = rows[on_screen[i]];
      const bool is_selected = first_ + i == selected_at_;
      lines.push_back({columns_of.line(row, where[i]), is_selected ? look::selected : look::plain});
      if (is_selected) selected_ends = lines.size();
      if (!stacks || !unfolded_.contains({what_, row.id})) continue;
      for (auto& frame : frame_lines(described, i, columns > 8 ? columns - 8 : columns))
        lines.push_back({"        " + frame, look::faint});
    }
    const bool off_screen = selected_at_ >= first_ + count || selected_ends > room;
    if (!off_screen || first_ >= selected_at_) {
      if (lines.size() > room) lines.resize(room);
      return lines;
    }
    ++first_;
    if (selected_at_ >= first_ + room) first_ = selected_at_ + 1 - room;
  }
}

std::string screen::tabs() const {
  std::string text;
  for (const auto& each : views())
    text += fmt::format(fmt::runtime(&each == &view_of(what_) ? "[{}] " : " {}  "), each.tab);
  return text + " by " + order_names[static_cast<std::size_t>(by_)];
}

std::string screen::bottom() const {
  if (types_search_) return "search: " + report::terminal_text(search_) + "_";
  std::string text = "q leave  ? help  l live  g growth  c churn  m peak  Tab view  / search  Enter unfold  p pause";
  if (!search_.empty()) text = fmt::format("only '{}' (Esc: all)  ", report::terminal_text(search_)) + text;
  return text;
}

std::vector<screen_line> screen::draw(std::size_t lines, std::size_t columns) {
  std::vector<screen_line> result;
  if (helps_) {
    for (const auto* text : help_lines) result.push_back({text, look::plain});
  } else {
    if (lines > least_lines + 4) result = head(columns);
    if (lines > least_lines) {
      if (lines > least_lines + 3) result.push_back({tabs(), look::plain});
      result.push_back({table(view_of(what_), by_, *last_, columns).heading(), look::heading});
    }
    const bool has_bottom = lines > 1;
    const auto room = lines - std::min(lines, result.size() + (has_bottom ? 1 : 0));
    auto table_lines = body(room, columns);
    result.insert(result.end(), table_lines.begin(), table_lines.end());
  }
  if (lines > 1) {
    result.resize(lines - 1);
    result.push_back({bottom(), look::faint});
  }
  result.resize(lines);
  for (auto& line : result) line.text = report::cut_right(line.text, columns);
  return result;
}

void screen::move(std::ptrdiff_t by) {
  if (ranked_.empty()) return;
  const auto last = static_cast<std::ptrdiff_t>(ranked_.size()) - 1;
  selected_at_ =
      static_cast<std::size_t>(std::clamp(static_cast<std::ptrdiff_t>(selected_at_) + by, std::ptrdiff_t{0}, last));
  selected_ = id_of(selected_at_);
}

void screen::sort_by(order by) {
  if (!view_of(what_).sorts_by(by)) return;
  by_ = by;
  selected_.reset();
  selected_at_ = first_ = 0;
}

void screen::show(subject what) {
  what_ = what;
  if (!view_of(what_).sorts_by(by_)) by_ = order::live;
  selected_.reset();
  selected_at_ = first_ = 0;
}

bool screen::press(key which) {
  if (helps_) {
    helps_ = false;
    return true;
  }
  if (types_search_) {
    if (which == key::erase && !search_.empty()) search_.pop_back();
    if (which == key::escape) search_.clear();
    if (which == key::escape || which == key::enter) types_search_ = false;
    return true;
  }
  const auto page = static_cast<std::ptrdiff_t>(page_);
  const auto all = static_cast<std::ptrdiff_t>(ranked_.size());
  switch (which) {
    case key::up:
      move(-1);
      break;
    case key::down:
      move(1);
      break;
    case key::page_up:
      move(-page);
      break;
    case key::page_down:
      move(page);
      break;
    case key::home:
      move(-all);
      break;
    case key::end:
      move(all);
      break;
    case key::enter:
    case key::right:
    case key::left:
      if (ranked_.empty() || !view_of(what_).are_stacks) break;
      selected_ = id_of(selected_at_);
      if (which == key::left || (which == key::enter && unfolded_.contains({what_, *selected_})))
        unfolded_.erase({what_, *selected_});
      else
        unfolded_.insert({what_, *selected_});
      break;
    case key::tab:
      show(static_cast<subject>((static_cast<std::size_t>(what_) + 1) % views().size()));
      break;
    case key::escape:
      search_.clear();
      break;
    case key::erase:
      break;
  }
  return true;
}

bool screen::type(char letter) {
  constexpr std::size_t longest_search = 200;
  if (helps_) {
    helps_ = false;
    return true;
  }
  if (types_search_) {
    if (search_.size() < longest_search) search_ += letter;
    return true;
  }
  switch (letter) {
    case 'q':
    case 'Q':
      return false;
    case 'l':
      sort_by(order::live);
      break;
    case 'g':
      sort_by(order::growth);
      break;
    case 'c':
      sort_by(order::churn);
      break;
    case 'm':
      sort_by(order::peak);
      break;
    case 'w':
      sort_by(order::leaks);
      break;
    case 'p':
    case ' ':
      paused_ = !paused_;
      break;
    case '/':
      types_search_ = true;
      search_.clear();
      break;
    case 'h':
    case '?':
      helps_ = true;
      break;
    default:
      for (std::size_t i = 0; i < views().size(); ++i)
        if (views()[i].key == letter) show(static_cast<subject>(i));
      break;
  }
  return true;
}

}  // namespace heapledger::live

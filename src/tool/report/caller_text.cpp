#include "tool/report/caller_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tool/report/frame_text.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::report {
namespace {

constexpr std::size_t branches_shown = 3;
constexpr double smallest_branch = 0.05;  // of its site

class caller_writer {
 public:
  caller_writer(page& page, const profile& p, const analyse::caller_tree& tree, const caller_text_options& options)
      : page_(page), profile_(p), tree_(tree), options_(options) {}

  void write_notes(const analyse::caller& caller, const std::string& prefix) {
    if (caller.cycle > 1) {
      page_.line(fmt::format("{}  (recursion: these {} frames repeated up to {} times)", prefix, caller.cycle,
                             count_text(caller.times)),
                 tone::faint);
    }
    if (caller.children.empty() && caller.frames_beyond > 0) {
      page_.line(fmt::format("{}  ... {} farther out{}", prefix, counted(caller.frames_beyond, "frame", "frames"),
                             options_.hints_at_depth ? "; --depth 100 shows a hundred" : ""),
                 tone::faint);
    }
  }

  // Everything outward of `node`, whose own line is written.
  void write_outward(std::uint32_t node, const std::string& prefix, std::size_t branchings) {
    for (;;) {
      const analyse::caller& here = tree_.nodes[node];
      write_notes(here, prefix);
      if (here.children.empty()) return;
      if (here.children.size() > 1 && branchings < options_.branchings) {
        write_branches(here, prefix, branchings + 1);
        return;
      }
      const std::size_t others = here.children.size() - 1;
      const std::string note = others == 0 ? "" : " (+" + counted(others, "other)", "others)");
      node = here.children.front();
      page_.line(frame_line(profile_, prefix, tree_.nodes[node], page_.width(), note));
    }
  }

 private:
  void write_branches(const analyse::caller& here, const std::string& prefix, std::size_t branchings) {
    const double site = value(tree_.nodes[0]);
    std::size_t shown = 0;
    while (shown < here.children.size()) {
      const bool matters =
          (shown == 0 && branchings == 1) ||
          (shown < branches_shown && value(tree_.nodes[here.children[shown]]) >= smallest_branch * site);
      if (!matters) break;
      ++shown;
    }
    double rest = value(here);
    for (std::size_t i = 0; i < shown; ++i) {
      const std::uint32_t child = here.children[i];
      rest -= value(tree_.nodes[child]);
      const bool last = shown == here.children.size() && i + 1 == shown;
      const std::string share = percent_text(value(tree_.nodes[child]), options_.total);
      page_.line(frame_line(profile_, fmt::format("{}{}{}  ", prefix, corner(last), share), tree_.nodes[child],
                            page_.width()));
      write_outward(child, prefix + (last ? "  " : bar()) + "         ", branchings);
    }
    if (shown < here.children.size()) {
      const std::size_t more = here.children.size() - shown;
      page_.line(fmt::format("{}{}{}  {}", prefix, corner(true), percent_text(rest, options_.total),
                             shown == 0 ? counted(more, "caller, none large", "callers, none large")
                                        : counted(more, "more caller", "more callers")),
                 tone::faint);
    }
  }

  double value(const analyse::caller& caller) const {
    return static_cast<double>(analyse::value_of(caller.count, options_.by));
  }
  const char* corner(bool last) const {
    if (page_.unicode()) return last ? "└ " : "├ ";
    return last ? "`-" : "|-";
  }
  const char* bar() const { return page_.unicode() ? "│ " : "| "; }

  page& page_;
  const profile& profile_;
  const analyse::caller_tree& tree_;
  const caller_text_options& options_;
};

}  // namespace

void write_callers(page& page, const profile& p, const analyse::caller_tree& tree, const caller_text_options& options,
                   std::string_view margin) {
  caller_writer(page, p, tree, options).write_outward(0, std::string(margin), 0);
}

void write_callers_briefly(page& page, const profile& p, const analyse::caller_tree& tree,
                           analyse::machinery& machinery, std::string_view margin) {
  constexpr std::size_t name_width = 28;
  std::vector<analyse::frame_ref> callers;
  for (std::uint32_t node = 0; !tree.nodes[node].children.empty();) {
    node = tree.nodes[node].children.front();
    callers.push_back(tree.nodes[node].frame);
  }
  // A line is short: what a container does between two functions of the program would fill it.
  const auto is_machinery = [&](const analyse::frame_ref& frame) { return machinery.is_wrapper(frame); };
  if (!std::all_of(callers.begin(), callers.end(), is_machinery)) std::erase_if(callers, is_machinery);
  std::string line;
  for (const analyse::frame_ref& caller : callers) {
    const std::string next = frame_name(p, caller, name_width);
    const std::string separator = line.empty() ? "  called by " : " < ";
    if (columns(margin) + columns(line) + columns(separator) + columns(next) + 6 > page.width()) {
      line += " < ...";
      break;
    }
    line += separator + next;
  }
  if (!line.empty()) page.line(std::string(margin) + line, tone::faint);
}

}  // namespace heapledger::report

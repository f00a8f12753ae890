// heaptrack's interpreted file, version 3: definitions before their use, numbers in hexadecimal, strings with their
// size.

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "tool/analyse/known_paths.hpp"
#include "tool/export/format.hpp"
#include "tool/export/heaptrack_plan.hpp"
#include "tool/export/names.hpp"
#include "tool/export/text_out.hpp"
#include "tool/profile/pair_index.hpp"
#include "tool/report/units.hpp"

namespace heapledger::exports {
namespace {

constexpr std::uint64_t most_allocations = 20'000'000;
constexpr std::uint64_t page_bytes = 4096;
constexpr std::int64_t millisecond_ns = 1'000'000;

std::vector<std::int64_t> highest_from(const std::vector<timeline_point>& timeline) {
  std::vector<std::int64_t> highest(timeline.size());
  std::int64_t most = 0;
  for (std::size_t i = timeline.size(); i-- > 0;) highest[i] = most = std::max(most, timeline[i].live_bytes);
  return highest;
}

class heaptrack_writer {
 public:
  heaptrack_writer(const profile& p, const sink& out)
      : p_(p),
        names_(p),
        text_(out),
        plan_(plan_blocks(p, most_allocations)),
        peak_ns_(p.peak.time_ns.value_or(p.process.duration_ns)),
        highest_from_(highest_from(p.timeline)),
        string_ids_(p.strings.size(), 0),
        module_ids_(p.modules.size(), 0),
        ip_ids_(p.locations.size(), 0),
        known_(p) {}

  notes write() {
    text_.add("v 10400 3\nX {}\nI {:x} 0\n", command_line(p_.process), page_bytes);
    // A free sets the last allocation back to group 0: nobody may be group 0.
    text_.add("a 0 {:x}\n", trace_of(0, no_stack_ip()));
    heaptrack_events events;
    events.phase = [&](heaptrack_phase phase) { begin(phase); };
    events.same_again = [&](std::uint32_t group) { return same_again(group); };
    events.allocate = [&](std::uint32_t group) { event('+', group); };
    events.free = [&](std::uint32_t group) { event('-', group); };
    events.climb_to = [&](std::uint64_t live_bytes) { climb_to(static_cast<std::int64_t>(live_bytes)); };
    events.descend_to = [&](std::uint64_t live_bytes) { descend_to(static_cast<std::int64_t>(live_bytes)); };
    info_ids_.resize(plan_.groups.size(), 0);
    const std::uint64_t misjudged = play(plan_, events);
    pass_time(p_.process.duration_ns);
    text_.add("# strings: {:x}\n# ips: {:x}\n", strings_, ips_);
    text_.flush();
    return what_differs(misjudged);
  }

 private:
  notes what_differs(std::uint64_t misjudged) const {
    notes said;
    if (plan_.left_out != 0) {
      said.push_back(fmt::format(
          "heaptrack's file has an event for each allocation, so {} that came and went are left out; the peak and what "
          "was never freed are complete",
          report::count_text(plan_.left_out)));
    } else if (misjudged != 0 || plan_.missing_temporaries != 0) {
      said.push_back(fmt::format("heaptrack will count {} temporary allocations too many and {} too few",
                                 report::count_text(misjudged), report::count_text(plan_.missing_temporaries)));
    }
    if (plan_.inexact_stacks != 0) {
      said.push_back(
          fmt::format("the counters of {} cannot be, as when they are read while they change or where blocks were "
                      "overwritten; they "
                      "were made to fit",
                      report::counted(plan_.inexact_stacks, "stack", "stacks")));
    }
    return said;
  }

  void begin(heaptrack_phase phase) {
    if (phase == heaptrack_phase::before_peak) pass_time(0);
    if (phase == heaptrack_phase::after_peak) pass_time(peak_ns_ + millisecond_ns);
  }

  // When so much lived first.
  void climb_to(std::int64_t live_bytes) {
    if (time_ns_ >= peak_ns_) return;
    const auto& points = p_.timeline;
    while (rising_ < points.size() && points[rising_].time_ns < peak_ns_ && points[rising_].live_bytes < live_bytes)
      ++rising_;
    const bool is_before = live_bytes < static_cast<std::int64_t>(plan_.peak_bytes) && rising_ < points.size() &&
                           points[rising_].time_ns < peak_ns_;
    const std::int64_t time_ns = is_before ? points[rising_].time_ns : peak_ns_;
    if (time_ns > time_ns_) pass_time(time_ns);
  }

  // When more than that had lived for the last time.
  void descend_to(std::int64_t live_bytes) {
    const auto& points = p_.timeline;
    while (falling_ < points.size() && (points[falling_].time_ns <= peak_ns_ || highest_from_[falling_] > live_bytes))
      ++falling_;
    const std::int64_t time_ns = falling_ < points.size() ? points[falling_].time_ns : p_.process.duration_ns;
    if (time_ns > time_ns_) pass_time(time_ns);
  }

  // With what was resident meanwhile.
  void pass_time(std::int64_t until_ns) {
    for (; next_point_ < p_.timeline.size() && p_.timeline[next_point_].time_ns <= until_ns; ++next_point_) {
      const timeline_point& point = p_.timeline[next_point_];
      set_time(point.time_ns);
      if (point.rss_bytes != 0) text_.add("R {:x}\n", point.rss_bytes / page_bytes);
    }
    set_time(until_ns);
  }
  void set_time(std::int64_t time_ns) {
    time_ns_ = std::max(time_ns_, time_ns);
    text_.add("c {:x}\n", static_cast<std::uint64_t>(time_ns_ / millisecond_ns));
  }

  void event(char what, std::uint32_t group) {
    if (info_ids_[group] == 0) info_ids_[group] = define_info(plan_.groups[group]);
    text_.add("{} {:x}\n", what, info_ids_[group]);
  }

  std::uint32_t define_info(const block_group& group) {
    const stack_entry& stack = p_.stacks[group.stack];
    text_.add("a {:x} {:x}\n", group.size_bytes, trace_of(stack));
    return infos_++;
  }

  std::uint32_t same_again(std::uint32_t group) {
    info_ids_.push_back(define_info(plan_.groups[group]));
    return static_cast<std::uint32_t>(info_ids_.size() - 1);
  }

  std::uint32_t string_id(const std::string& text) {
    if (text.empty()) return 0;
    text_.add("s {:x} {}\n", text.size(), text);
    return ++strings_;
  }
  std::uint32_t string_id(std::uint32_t string) {
    if (string == none) return 0;
    if (string_ids_[string] == 0) string_ids_[string] = string_id(names_.text(string));
    return string_ids_[string];
  }
  std::uint32_t module_id(std::uint32_t module) {
    if (module == none) return 0;
    if (module_ids_[module] == 0) module_ids_[module] = string_id(names_.module(module));
    return module_ids_[module];
  }

  std::uint32_t ip_of(std::uint32_t index) {
    if (ip_ids_[index] != 0) return ip_ids_[index];
    const location& place = p_.locations[index];
    const std::uint32_t module = module_id(place.module);
    std::string symbols;
    for (const std::uint32_t symbol : place.symbols) {
      const frame_info& frame = p_.frames[symbol];
      const std::uint32_t function = string_id(frame.function);
      if (function == 0) continue;
      symbols += fmt::format(" {:x} {:x} {:x}", function, string_id(frame.file), frame.line);
    }
    const std::uint64_t address = place.address + (place.module == none ? 0 : p_.modules[place.module].bias);
    text_.add("i {:x} {:x}{}\n", address, module, symbols);
    return ip_ids_[index] = ++ips_;
  }

  // What is no code: a function's name at no address.
  std::uint32_t named_ip(const std::string& name) {
    const auto [found, added] = named_ips_.try_emplace(name, 0);
    if (added) {
      const std::uint32_t id = string_id(name);
      text_.add("i {:x} 0 {:x} 0 0\n", named_ips_.size(), id);
      found->second = ++ips_;
    }
    return found->second;
  }
  std::uint32_t no_stack_ip() { return named_ip(std::string(no_stack_name)); }

  // A trace is an ip below another trace; 0 is below none.
  std::uint32_t trace_of(std::uint32_t parent, std::uint32_t ip) {
    const auto trace = traces_.find_or_add(parent, ip, last_trace_ + 1U);
    if (trace.is_new) {
      last_trace_ = trace.number;
      text_.add("t {:x} {:x}\n", ip, parent);
    }
    return trace.number;
  }

  std::uint32_t trace_of(const stack_entry& stack) {
    std::uint32_t trace = 0;
    for (const auto& scope : stack.scope) trace = trace_of(trace, named_ip(scope_frame(scope)));
    const std::uint32_t end = known_.follow(trace, stack.node, [&](std::uint32_t outer, std::uint32_t location) {
      return trace_of(outer, ip_of(location));
    });
    return end == trace ? trace_of(trace, no_stack_ip()) : end;
  }

  const profile& p_;
  safe_names names_;
  text_out text_;
  heaptrack_plan plan_;
  std::int64_t peak_ns_;
  std::vector<std::int64_t> highest_from_;  // by point of the timeline, from there to the end
  std::size_t rising_ = 0;
  std::size_t falling_ = 0;
  std::vector<std::uint32_t> string_ids_;
  std::vector<std::uint32_t> module_ids_;
  std::vector<std::uint32_t> ip_ids_;    // by location
  std::vector<std::uint32_t> info_ids_;  // by group, then those that are the same again
  analyse::known_paths known_;           // to traces
  std::map<std::string, std::uint32_t> named_ips_;
  pair_index traces_;  // by parent and ip
  std::uint32_t last_trace_ = 0;
  std::uint32_t strings_ = 0;
  std::uint32_t ips_ = 0;
  std::uint32_t infos_ = 1;
  std::int64_t time_ns_ = 0;
  std::size_t next_point_ = 0;
};

}  // namespace

notes write_heaptrack(const profile& p, std::optional<analyse::measure>, const sink& out) {
  return heaptrack_writer(p, out).write();
}

}  // namespace heapledger::exports

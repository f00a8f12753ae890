#include "tool/report/diff_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "tool/diff/rank.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::report {
namespace {

using analyse::measure;

class diff_writer {
 public:
  diff_writer(const diff::comparison& compared, const json_options& options, const json_sink& sink)
      : compared_(compared), options_(options), sink_(sink) {}

  void write(std::span<const gate_result> gates) {
    add(R"({{"format":"heapledger-diff","version":1,"by":"{}",)", name_of(options_.by));
    write_profile("old", compared_.before());
    write_profile("new", compared_.after());
    out_ += "\"totals\":{";
    write_counts(compared_.total_before(), compared_.total_after());
    add(",\"peak_bytes_error\":{}}},\n", compared_.before().peak.error_bytes + compared_.after().peak.error_bytes);
    write_functions();
    write_stacks();
    write_gates(gates);
    out_ += "}\n";
    sink_(out_);
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    if (out_.size() >= json_piece_bytes) {
      sink_(out_);
      out_.clear();
    }
  }

  static std::string_view name_of(measure by) { return analyse::measure_names[static_cast<std::size_t>(by)]; }

  std::size_t shown_of(std::size_t all) const { return options_.top == 0 ? all : std::min(all, options_.top); }

  void write_profile(const char* key, const profile& p) {
    const process_info& process = p.process;
    add(R"("{}":{{"pid":{},"exe":{},"command":[)", key, process.pid, json_string(process.exe));
    const char* separator = "";
    for (const auto& word : process.command) add("{}{}", std::exchange(separator, ","), json_string(word));
    add("],\"start_time\":{},\"duration\":{}", json_seconds(process.start_realtime_ns),
        json_seconds(process.duration_ns));
    if (!process.stacks.empty()) add(",\"stacks\":{}", json_string(process.stacks));
    if (process.depth_limit != 0) add(",\"depth_limit\":{}", process.depth_limit);
    if (p.mapped) add(",\"mapped\":{{\"peak_bytes\":{}}}", p.mapped->peak_bytes);
    out_ += "},\n";
  }

  void write_counts(const counters& before, const counters& after) {
    const auto values = [&](const char* key, auto&& value) {
      add(R"("{}":{{"allocations":{},"frees":{},"temporaries":{},"allocated_bytes":{},"freed_bytes":{},)", key,
          value(&counters::allocations), value(&counters::frees), value(&counters::temporaries),
          value(&counters::allocated_bytes), value(&counters::freed_bytes));
      add(R"("live_blocks":{},"live_bytes":{},"peak_bytes":{}}})",
          value(&counters::allocations) - value(&counters::frees),
          value(&counters::allocated_bytes) - value(&counters::freed_bytes), value(&counters::peak_bytes));
    };
    values("old", [&](auto member) { return static_cast<std::int64_t>(before.*member); });
    out_ += ",";
    values("new", [&](auto member) { return static_cast<std::int64_t>(after.*member); });
    out_ += ",";
    values("change", [&](auto member) {
      return static_cast<std::int64_t>(after.*member) - static_cast<std::int64_t>(before.*member);
    });
  }

  void write_name(std::string_view function, std::string_view module) {
    if (!function.empty()) add("\"function\":{},", json_string(function));
    if (!module.empty()) add("\"module\":{},", json_string(module));
  }

  void write_functions() {
    out_ += "\"functions\":[";
    const char* separator = "";
    const auto places = diff::rank_places(compared_, options_.by);
    for (std::size_t i = 0; i < shown_of(places.size()); ++i) {
      add("{}{{", std::exchange(separator, ",\n"));
      if (places[i].frame) {
        const auto& frame = compared_.frames()[*places[i].frame];
        write_name(frame.function, frame.module);
      }
      write_counts(places[i].before, places[i].after);
      out_ += "}";
    }
    out_ += "],\n";
  }

  void write_stacks() {
    static constexpr const char* kinds[] = {"same", "grew", "shrank", "appeared", "vanished"};
    out_ += "\"stacks\":[";
    const char* separator = "";
    const auto order = diff::rank_changes(compared_, options_.by);
    for (std::size_t i = 0; i < shown_of(order.size()); ++i) {
      const diff::stack_change& change = compared_.stacks()[order[i]];
      add("{}{{\"kind\":\"{}\",\"scope\":[", std::exchange(separator, ",\n"),
          kinds[static_cast<std::size_t>(diff::kind_of(change, options_.by))]);
      const char* comma = "";
      for (const auto& name : *change.scope) add("{}{}", std::exchange(comma, ","), json_string(name));
      out_ += "],";
      write_counts(change.before, change.after);
      add(",\"shown\":\"{}\",\"frames\":[", change.stacks_after != 0 ? "new" : "old");
      write_frames(change);
      out_ += "]}";
    }
    out_ += "],\n";
  }

  void write_frames(const diff::stack_change& change) {
    const profile& p = compared_.shown_in(change);
    const char* separator = "";
    for (const diff::shown_frame& frame : compared_.frames_of(change)) {
      add("{}{{", std::exchange(separator, ","));
      write_name(compared_.frames()[frame.frame].function, compared_.module_of(change, frame));
      const std::string_view file = analyse::file_name(p, frame.place);
      if (!file.empty()) add("\"file\":{},", json_string(file));
      if (const auto line = analyse::line_number(p, frame.place); line != 0) add("\"line\":{},", line);
      if (frame.cycle != 0) add("\"cycle\":{},\"times\":{},", frame.cycle, frame.times);
      add("\"address\":{},\"inlined\":{}}}", json_address(p.locations[frame.place.location].address),
          frame.place.inlined);
    }
  }

  void write_gates(std::span<const gate_result> gates) {
    bool worse = false;
    out_ += "\"limits\":[";
    const char* separator = "";
    for (const gate_result& result : gates) {
      add(R"({}{{"limit":{},"by":"{}","old":{},"new":{},"worse":{}}})", std::exchange(separator, ","),
          json_string(result.gate.text), name_of(result.by), result.before, result.after, result.worse);
      worse = worse || result.worse;
    }
    add("],\"worse\":{}", worse);
  }

  const diff::comparison& compared_;
  const json_options& options_;
  const json_sink& sink_;
  std::string out_;
};

}  // namespace

void write_diff_json(const diff::comparison& compared, std::span<const gate_result> gates, const json_options& options,
                     const json_sink& sink) {
  diff_writer(compared, options, sink).write(gates);
}

}  // namespace heapledger::report

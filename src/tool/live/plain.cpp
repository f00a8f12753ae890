#include "tool/live/plain.hpp"

#include <fmt/format.h>

#include "tool/analyse/frames.hpp"
#include "tool/live/leak_marks.hpp"
#include "tool/live/mapped.hpp"
#include "tool/live/pools.hpp"
#include "tool/live/table.hpp"
#include "tool/live/view.hpp"
#include "tool/report/json_text.hpp"
#include "tool/report/printable.hpp"
#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

using report::json_string;

const char* state_name(watched state) {
  return state == watched::running ? "running" : state == watched::ended ? "ended" : "replaced";
}

std::string json_counts(const counters& count) {
  return fmt::format(
      R"("live_bytes":{},"live_blocks":{},"allocations":{},"frees":{},"allocated_bytes":{},"freed_bytes":{})",
      count.live_bytes(), count.live_blocks(), count.allocations, count.frees, count.allocated_bytes,
      count.freed_bytes);
}

std::string json_rate(const per_second& rate) {
  return fmt::format(R"(,"live_bytes_per_second":{:.1f},"allocations_per_second":{:.1f})", rate.live_bytes,
                     rate.allocations);
}

std::string json_scope(const std::vector<std::string>& scope) {
  std::string text = ",\"scope\":[";
  for (std::size_t i = 0; i < scope.size(); ++i) text += (i == 0 ? "" : ",") + json_string(scope[i]);
  return text + "]";
}

std::string json_frames(const profile& p, std::uint32_t node) {
  std::string text = ",\"frames\":[";
  const char* separator = "";
  for (const auto& frame : analyse::expand_stack(p, node)) {
    const auto& place = p.locations[frame.location];
    text += separator;
    text += "{";
    separator = ",";
    if (const auto name = analyse::function_name(p, frame); !name.empty())
      text += fmt::format("\"function\":{},", json_string(name));
    if (const auto file = analyse::file_name(p, frame); !file.empty())
      text += fmt::format("\"file\":{},", json_string(file));
    if (const auto line = analyse::line_number(p, frame); line != 0) text += fmt::format("\"line\":{},", line);
    if (place.module != none) text += fmt::format("\"module\":{},", json_string(p.modules[place.module].path));
    text += fmt::format("\"address\":{},\"inlined\":{}}}", report::json_address(place.address), frame.inlined);
  }
  return text + "]";
}

}  // namespace

std::string as_text(const sample& from, const process_info& process, const std::vector<std::uint32_t>& rows,
                    const profile& described, const plain_options& options) {
  const auto& total = from.totals;
  const auto time = report::seconds_text(from.time_ns);
  std::string out =
      fmt::format("pid {}, {}{}: live {} in {} block{}", process.pid,
                  process.attached_after_ns > 0 ? fmt::format("watched for {}{}", time, attached_text(process))
                                                : time + " after its start",
                  from.state == watched::running ? "" : fmt::format(" ({})", state_name(from.state)),
                  report::bytes_text(total.live_bytes()), report::signed_count_text(total.live_blocks()),
                  total.live_blocks() == 1 ? "" : "s");
  if (from.rate)
    out +=
        fmt::format(", {}/s, {} allocations/s", growth_text(from.rate->live_bytes), churn_text(from.rate->allocations));
  out += fmt::format(", peak {}", report::bytes_text(total.peak_bytes));
  if (from.rss_bytes) out += fmt::format(", RSS {}", report::bytes_text(*from.rss_bytes)) + mapped_share_text(from);
  out += leaks_summary(from) + "\n";
  const auto& all = rows_of(from, options.what);
  if (rows.empty()) return out + fmt::format("  {}\n\n", all.empty() ? view_of(options.what).empty : none_lives);
  const table lines(view_of(options.what), options.by, from, options.width);
  out += lines.heading() + "\n";
  const auto where = where_texts(from, options.what, rows, described, lines.where_width());
  for (std::size_t i = 0; i < rows.size(); ++i) out += lines.line(all[rows[i]], where[i]) + "\n";
  return out + "\n";
}

std::string as_json(const sample& from, const process_info& process, const std::vector<std::uint32_t>& rows,
                    const profile& described, const plain_options& options) {
  const auto& total = from.totals;
  std::string out = fmt::format(
      R"({{"format":"heapledger-top","version":1,"pid":{},"time":{},"state":"{}",{},"peak_bytes":{})", process.pid,
      report::json_seconds(from.time_ns), state_name(from.state), json_counts(total), total.peak_bytes);
  if (process.attached_after_ns > 0)
    out += fmt::format(",\"attached_after\":{}", report::json_seconds(process.attached_after_ns));
  if (from.rss_bytes) out += fmt::format(",\"rss_bytes\":{}", *from.rss_bytes);
  if (from.mapped_resident_bytes) out += fmt::format(",\"mapped_resident_bytes\":{}", *from.mapped_resident_bytes);
  if (from.rate) out += json_rate(*from.rate);
  out += leaks_json(from);
  out += fmt::format(",\"{}\":[", view_of(options.what).tab);
  const auto& all = rows_of(from, options.what);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& row = all[rows[i]];
    const bool is_mapped = options.what == subject::mapping;
    out += fmt::format("{}{{{}", i == 0 ? "" : ",", is_mapped ? mapped_json(row) : json_counts(row.count));
    if (from.rate) out += is_mapped ? mapped_rate_json(row) : json_rate(row.rate);
    out += mark_json(row);
    if (view_of(options.what).sorts_by(order::peak) && !is_mapped)
      out += fmt::format(",\"peak_bytes\":{}", row.count.peak_bytes);
    if (view_of(options.what).are_stacks) {
      const auto& stack = described.stacks[i];
      out += fmt::format(",\"id\":{}", stack.id);
      if (!is_mapped) out += json_scope(stack.scope);
      out += json_frames(described, stack.node);
    } else {
      out += fmt::format(",\"name\":{}", json_string(row.name));
      if (options.what == subject::pool) out += pool_json(row);
    }
    out += "}";
  }
  return out + "]}\n";
}

}  // namespace heapledger::live

#include "tool/live/mapped.hpp"

#include <fmt/format.h>

#include "tool/report/json_text.hpp"
#include "tool/report/units.hpp"

namespace heapledger::live {
namespace {

constexpr std::int64_t share_worth_a_word = 5;  // a fifth

std::string bytes_or_none(const std::optional<std::int64_t>& bytes) {
  return bytes ? report::bytes_text(*bytes) : "-";
}

}  // namespace

std::vector<row> mapped_rows(const mapped_info& mapped, std::span<const std::uint32_t> ids) {
  std::vector<row> rows;
  for (const auto& site : mapped.sites) {
    row made{.id = ids[rows.size()],
             .name = site.kind,
             .count = {.allocations = site.calls,
                       .allocated_bytes = site.mapped_bytes,
                       .freed_bytes = site.unmapped_bytes,
                       .peak_bytes = site.most_resident_bytes},
             .rate = {},
             .mapped = {.ranges = site.ranges}};
    if (mapped.seen_ns) {
      made.mapped.resident_bytes = site.resident_bytes;
      made.mapped.most_resident_bytes = site.most_resident_bytes;
    }
    rows.push_back(std::move(made));
  }
  return rows;
}

std::string mapped_resident_text(const row& of) {
  return bytes_or_none(of.mapped.resident_bytes);
}

std::string mapped_most_resident_text(const row& of) {
  return bytes_or_none(of.mapped.most_resident_bytes);
}

std::string mapped_ranges_text(const row& of) {
  return report::count_text(of.mapped.ranges);
}

std::string mapped_kind_text(const row& of) {
  return of.name.empty() || of.name == "anonymous" ? std::string() : "(" + of.name + ") ";
}

std::string mapped_share_text(const sample& of) {
  if (!of.mapped_resident_bytes || !of.rss_bytes || *of.mapped_resident_bytes < *of.rss_bytes / share_worth_a_word)
    return {};
  return fmt::format(" ({} mapped)", report::bytes_text(*of.mapped_resident_bytes));
}

std::string mapped_json(const row& of) {
  std::string text =
      fmt::format(R"("kind":{},"calls":{},"mapped_bytes":{},"unmapped_bytes":{},"live_bytes":{},"ranges":{})",
                  report::json_string(of.name), of.count.allocations, of.count.allocated_bytes, of.count.freed_bytes,
                  of.count.live_bytes(), of.mapped.ranges);
  if (of.mapped.resident_bytes)
    text += fmt::format(R"(,"resident_bytes":{},"most_resident_bytes":{})", *of.mapped.resident_bytes,
                        of.mapped.most_resident_bytes.value_or(0));
  return text;
}

std::string mapped_rate_json(const row& of) {
  return fmt::format(R"(,"live_bytes_per_second":{:.1f},"calls_per_second":{:.1f})", of.rate.live_bytes,
                     of.rate.allocations);
}

}  // namespace heapledger::live

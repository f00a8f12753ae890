#include "tool/collect/mapped_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>

#include "tool/collect/process.hpp"

namespace heapledger::collect {
namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t address_limit = std::uint64_t{1} << 47;
constexpr std::uint64_t most_in_all = std::uint64_t{1} << 58;
constexpr std::uint64_t pages_per_look = std::uint64_t{4} << 20;  // 16 GiB
constexpr std::size_t range_limit = std::size_t{1} << 20;

bool is_possible(const wire::mapping& range) {
  return range.bytes != 0 && range.start % page_bytes == 0 && range.bytes % page_bytes == 0 &&
         range.start < address_limit && range.bytes <= address_limit - range.start;
}

const char* name_of(wire::mapping_kind kind) {
  switch (kind) {
    case wire::mapping_kind::anonymous:
      return "anonymous";
    case wire::mapping_kind::file:
      return "file";
    case wire::mapping_kind::shared:
      return "shared";
    case wire::mapping_kind::count:
      break;
  }
  return nullptr;
}

// Which sites are shown: what no program can reach is left out, and so their sums are sound.
std::vector<bool> shown_sites(const std::vector<wire::mapping_site>& sites) {
  std::vector<bool> shown(sites.size());
  std::uint64_t bytes = 0, calls = 0;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const auto& site = sites[i];
    if (name_of(site.kind) == nullptr || site.mapped_bytes == 0 || site.unmapped_bytes > site.mapped_bytes ||
        site.mapped_bytes > most_in_all - bytes || site.calls > most_in_all - calls)
      continue;
    bytes += site.mapped_bytes;
    calls += site.calls;
    shown[i] = true;
  }
  return shown;
}

}  // namespace

std::vector<mapped_range> read_mapped_ranges(const segment_file& segment) {
  std::uint32_t count = 0;
  if (!segment.read_at(offsetof(wire::segment_header, mapping_count), &count, sizeof count)) return {};
  const auto& region = segment.header().mappings;
  std::vector<wire::mapping> read(std::min<std::uint64_t>({count, region.capacity, range_limit}));
  if (!segment.read_at(region.offset, read.data(), read.size() * sizeof read[0])) return {};
  std::vector<mapped_range> ranges;
  for (const auto& range : read)
    if (is_possible(range)) ranges.push_back({range.start, range.start + range.bytes, range.site});
  std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
  // The program may have moved on while they were read.
  std::uint64_t end = 0;
  std::erase_if(ranges, [&](const mapped_range& range) {
    if (range.start < end) return true;
    end = range.end;
    return false;
  });
  return ranges;
}

resident_pages::resident_pages(pid_t pid)
    : pages_(::open(fmt::format("/proc/{}/pagemap", thread_with_memory(pid)).c_str(), O_RDONLY | O_CLOEXEC)),
      pages_left_(pages_per_look) {}

std::optional<present_bytes> resident_pages::bytes_in(std::uint64_t start, std::uint64_t end) {
  constexpr std::uint64_t is_present = std::uint64_t{1} << 63;
  constexpr std::uint64_t is_of_file = std::uint64_t{1} << 61, is_mapped_here_alone = std::uint64_t{1} << 56;
  std::array<std::uint64_t, 8192> entries;
  const std::uint64_t pages = (end - start) / page_bytes;
  if (pages > pages_left_) return std::nullopt;
  pages_left_ -= pages;
  present_bytes present;
  for (std::uint64_t at = start / page_bytes; at < end / page_bytes;) {
    const std::size_t wanted = std::min<std::uint64_t>(entries.size(), end / page_bytes - at);
    const auto got =
        ::pread(pages_.get(), entries.data(), wanted * sizeof entries[0], static_cast<off_t>(at * sizeof entries[0]));
    if (got <= 0) return std::nullopt;
    const auto read = static_cast<std::size_t>(got) / sizeof entries[0];
    for (const std::uint64_t entry : std::span(entries).first(read)) {
      if ((entry & is_present) == 0) continue;
      const bool is_sure = (entry & (is_of_file | is_mapped_here_alone)) != 0;
      (is_sure ? present.resident : present.perhaps) += page_bytes;
    }
    at += read;
  }
  return present;
}

void add_mapped(const segment_copy& segment, std::span<const std::uint32_t> nodes, profile& to) {
  mapped_info info;
  const auto shown = shown_sites(segment.mapping_sites);
  std::vector<std::uint64_t> ranges(segment.mapping_sites.size());
  for (const auto& range : segment.mappings)
    if (is_possible(range) && range.site < ranges.size()) ++ranges[range.site];
  for (std::size_t i = 0; i < segment.mapping_sites.size(); ++i) {
    const auto& site = segment.mapping_sites[i];
    if (!shown[i]) continue;
    info.sites.push_back({.node = nodes[i],
                          .kind = name_of(site.kind),
                          .calls = site.calls,
                          .mapped_bytes = site.mapped_bytes,
                          .unmapped_bytes = site.unmapped_bytes,
                          .ranges = ranges[i]});
  }
  if (info.sites.empty()) return;
  info.peak_bytes = std::min(segment.header.mapped_peak_bytes, most_in_all);
  to.mapped = std::move(info);
}

void add_mapped_residency(const segment_copy& segment, const residency_by_site& residency, std::int64_t seen_ns,
                          profile& to) {
  if (!to.mapped) return;
  to.mapped->seen_ns = seen_ns;
  const auto shown = shown_sites(segment.mapping_sites);
  std::size_t at = 0;
  for (std::size_t i = 0; i < shown.size() && at < to.mapped->sites.size(); ++i) {
    if (!shown[i]) continue;
    auto& site = to.mapped->sites[at++];
    if (i >= residency.size()) continue;
    site.resident_bytes = residency[i].now;
    site.most_resident_bytes = residency[i].most;
  }
}

}  // namespace heapledger::collect

#include "tool/collect/memory_map.hpp"

#include <algorithm>
#include <cstdlib>

#include "tool/collect/process.hpp"
#include "tool/collect/segment.hpp"

namespace heapledger::collect {
namespace {

constexpr std::size_t smaps_limit = std::size_t{256} << 20;
constexpr std::uint32_t site_limit = 1u << 20;
constexpr std::uint64_t usual_cost_share = 200;  // 1/200 of the time
constexpr std::uint64_t rising_cost_share = 100;
constexpr std::uint64_t growing_cost_share = 20;
constexpr std::uint64_t resting_cost_share = 5000;

}  // namespace

memory_map to_memory_map(const resident_parts& parts, const wire::segment_header& header, const quick_totals& totals,
                         std::int64_t time_ns) {
  memory_map map;
  map.time_ns = time_ns;
  map.rss_bytes = parts.rss;
  map.live_bytes = totals.live_bytes();
  map.tag_bytes = static_cast<std::int64_t>(tag_bytes_of(header, totals.live_blocks()));
  map.profiler_bytes = parts.segment + parts.probe_library + parts.probe_memory;
  map.allocator_bytes = parts.heap - map.live_bytes - map.tag_bytes;
  map.file_bytes = parts.files;
  map.stack_bytes = parts.stacks;
  map.other_bytes = parts.other;
  for (const auto bytes : parts.mapped) map.mapped_bytes += bytes;
  return map;
}

bool memory_sampler::is_sorting_due(const resident_totals& resident, const quick_totals& totals,
                                    std::uint64_t now_ns) const {
  if (!sorted_) return true;
  const bool rises = totals.live_bytes() > sorted_live_bytes_ + sorted_live_bytes_ / 4;
  const bool rests = std::abs(resident.rss - sorted_->rss) <= sorted_->rss / 64;
  // Whose new memory is that? It cannot be asked often: each time there is half as much again.
  const bool grows = resident.rss > sorted_->rss + sorted_->rss / 2;
  const auto share = grows   ? growing_cost_share
                     : rises ? rising_cost_share
                     : rests ? resting_cost_share
                             : usual_cost_share;
  return now_ns - sorted_ns_ >= sorting_cost_ns_ * share;
}

void memory_sampler::note_residency(const residency_by_site& now) {
  residency_.resize(std::max(residency_.size(), now.size()));
  for (std::size_t i = 0; i < residency_.size(); ++i) {
    residency_[i].now = i < now.size() ? now[i].now : 0;
    residency_[i].most = std::max(residency_[i].most, residency_[i].now);
  }
}

bool memory_sampler::sort(const segment_file& segment, pid_t pid, const quick_totals& totals, std::uint64_t now_ns) {
  const std::uint64_t begin_ns = monotonic_ns();
  resident_pages pages(pid);
  mapped_by_program mapped{read_mapped_ranges(segment), &pages};
  for (const auto& range : mapped.ranges)
    mapped.residency.resize(std::max<std::size_t>(mapped.residency.size(), std::min(range.site, site_limit) + 1));
  const auto smaps = read_memory_file(pid, "smaps", smaps_limit);
  if (smaps.empty()) return false;
  auto in_stacks = guarded_stacks_of(pid, smaps);
  const auto waiting = stack_pointers_of(pid);
  in_stacks.insert(in_stacks.end(), waiting.begin(), waiting.end());
  sorted_ = sort_mappings(smaps, segment, in_stacks, &mapped);
  note_residency(mapped.residency);
  sorting_cost_ns_ = monotonic_ns() - begin_ns;
  sorting_time_ns_ += sorting_cost_ns_;
  sorted_ns_ = now_ns;
  sorted_live_bytes_ = totals.live_bytes();
  return true;
}

memory_sampler::result memory_sampler::sample(const segment_file& segment, pid_t pid, const resident_totals& resident,
                                              const quick_totals& totals, std::uint64_t now_ns) {
  const bool sorts = is_sorting_due(resident, totals, now_ns);
  if (sorts && !sort(segment, pid, totals, now_ns)) return result::unreadable;
  if (!sorted_->has_segment) return result::other_image;

  wire::segment_header header{};
  if (!segment.read_at(0, &header, sizeof header)) return result::unreadable;
  const auto start_ns = segment.header().start_monotonic_ns;
  const auto parts = sorts ? *sorted_
                           : brought_up_to(resident, *sorted_, static_cast<std::int64_t>(segment.resident_bytes()),
                                           header.mapped_bytes);
  last_ = to_memory_map(parts, header, totals, static_cast<std::int64_t>(now_ns - std::min(now_ns, start_ns)));
  if (!peak_ || last_->live_bytes >= peak_->live_bytes) peak_ = last_;
  return result::sampled;
}

}  // namespace heapledger::collect

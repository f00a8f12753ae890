#include "tool/collect/segment.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <ctime>
#include <numeric>
#include <span>

#include "tool/collect/books.hpp"
#include "tool/collect/errors.hpp"
#include "tool/collect/lifetimes.hpp"
#include "tool/collect/mapped_memory.hpp"
#include "tool/collect/markers.hpp"
#include "tool/collect/pools.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/scopes.hpp"
#include "tool/collect/stack_tree.hpp"
#include "tool/collect/thread_shares.hpp"
#include "tool/collect/times.hpp"
#include "tool/collect/totals.hpp"
#include "tool/collect/uncounted.hpp"
#include "tool/profile/pair_index.hpp"

namespace heapledger::collect {
namespace {

std::vector<std::string> arguments(const segment_copy& segment) {
  std::vector<std::string> result;
  if (segment.header.command >= segment.strings.size()) return result;
  std::string_view rest =
      std::string_view(segment.strings).substr(segment.header.command, segment.header.command_bytes);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\0'), rest.size());
    result.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return result;
}

std::string stacks_name(wire::stacks_mode mode) {
  switch (mode) {
    case wire::stacks_mode::dwarf:
      return "dwarf";
    case wire::stacks_mode::frame_pointer:
      return "fp";
    case wire::stacks_mode::off:
      return "off";
    case wire::stacks_mode::jit:
      return "jit";
  }
  return "unknown";
}

std::uint64_t last_mentioned_ns(const segment_copy& segment) {
  std::uint64_t last = segment.header.peak_monotonic_ns;
  for (const auto& thread : segment.threads) last = std::max({last, thread.start_ns, thread.end_ns});
  for (const auto& module : segment.modules) last = std::max({last, module.loaded_ns, module.unloaded_ns});
  return last;
}

process_info to_process(const segment_copy& segment) {
  const auto& header = segment.header;
  const bool exited = header.state == wire::lifecycle::exited;
  process_info info;
  info.pid = header.pid;
  info.parent_pid = header.parent_pid;
  info.exe = segment.text(header.exe);
  info.command = arguments(segment);
  if (header.attached_after_ns != 0) trim_title(info.command);
  info.start_realtime_ns = as_ns(header.start_realtime_ns);
  const bool knows_end = header.end_monotonic_ns != 0;
  info.duration_ns = since_start(header, knows_end ? header.end_monotonic_ns : last_mentioned_ns(segment));
  info.ended = exited ? ending::exited : ending::lost;
  if (exited && (header.exit_status & wire::exit_status_known) != 0)
    info.exit_code = static_cast<int>(header.exit_status & 0xff);
  info.forked = header.forked != 0;
  info.attached_after_ns = as_ns(header.attached_after_ns);
  info.detached = header.state == wire::lifecycle::detached;
  info.stacks = stacks_name(header.stacks);
  info.depth_limit = header.depth_limit;
  info.host = host_name();
  return info;
}

// Returns the id of the stack that each account became a part of.
std::vector<std::uint32_t> add_stacks(const segment_copy& segment, const books& sums, profile& to) {
  const auto& accounts = sums.accounts;
  std::vector<bool> wanted(accounts.size());
  for (std::size_t i = 0; i < accounts.size(); ++i)
    wanted[i] = accounts[i].allocations != 0 || accounts[i].frees != 0 || accounts[i].peak_bytes != 0;
  const auto of_errors = accounts_of_errors(segment);
  for (const std::uint32_t account : of_errors)
    if (account < wanted.size()) wanted[account] = true;

  std::vector<std::uint32_t> kept, innermost;
  for (std::uint32_t i = 0; i < wanted.size(); ++i) {
    if (!wanted[i]) continue;
    kept.push_back(i);
    innermost.push_back(segment.account_keys[i].node);
  }
  for (const auto& site : segment.pool_sites) innermost.push_back(site.node);
  for (const auto& site : segment.mapping_sites) innermost.push_back(site.node);
  for (const auto& error : segment.errors) innermost.push_back(error.node);
  scope_reader scopes(segment, to);
  scopes.add_freers(segment, to);
  scopes.bound_peaks(segment, accounts, to);
  const auto nodes = build_stack_tree(segment, std::move(innermost), to);
  const auto of_pools = std::span(nodes).subspan(kept.size());
  add_pools(segment, of_pools, to);
  const auto of_mappings = of_pools.subspan(segment.pool_sites.size());
  add_mapped(segment, of_mappings, to);

  // One account of a kind of scope and a stack stands for all of them: of scopes that lived at the same time, of blocks
  // that were moved out of a scope, and of threads that met the stack at the same moment.
  pair_index places(kept.size());  // by kind of scope and node
  to.stacks.reserve(kept.size());
  std::vector<std::uint32_t> id_of(accounts.size());
  std::iota(id_of.begin(), id_of.end(), std::uint32_t{0});
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const std::uint32_t account = kept[i], kind = scopes.kind_of(segment.account_keys[account]);
    const auto known = places.find_or_add(kind, nodes[i], to.stacks.size());
    if (!known.is_new) {
      auto& first = to.stacks[known.number];
      first.count += accounts[account];
      id_of[account] = first.id;
      continue;
    }
    to.stacks.push_back({.id = account, .node = nodes[i], .scope = scopes.path_of(kind), .count = accounts[account]});
  }
  add_errors(segment, of_errors, id_of, of_mappings.subspan(segment.mapping_sites.size()), to);
  return id_of;
}

// Returns the index that each record became.
std::vector<std::uint32_t> add_threads(const segment_copy& segment, profile& to) {
  std::vector<std::uint32_t> index_of(segment.threads.size(), none);
  for (std::size_t i = 0; i < segment.threads.size(); ++i) {
    const auto& thread = segment.threads[i];
    if (thread.state == wire::thread_state::unused && thread.allocations == 0 && thread.frees == 0) continue;
    thread_info info;
    info.tid = thread.tid;
    info.name = std::string(thread.name, ::strnlen(thread.name, sizeof thread.name));
    if (i == 0 && info.name.empty()) info.name = "(threads without a record)";
    info.start_ns = since_start(segment.header, thread.start_ns);
    if (thread.state == wire::thread_state::ended) info.end_ns = since_start(segment.header, thread.end_ns);
    const quick_totals totals{thread.allocations, thread.frees, thread.allocated_bytes, thread.freed_bytes};
    if (totals.are_possible()) {
      info.allocations = thread.allocations;
      info.frees = thread.frees;
      info.allocated_bytes = thread.allocated_bytes;
      info.freed_bytes = thread.freed_bytes;
    } else {
      ++to.profiler.losses["damaged_threads"];
    }
    index_of[i] = static_cast<std::uint32_t>(to.threads.size());
    to.threads.push_back(std::move(info));
  }
  return index_of;
}

// By account, the index of the stack with its id.
std::vector<std::uint32_t> stack_indices(const std::vector<std::uint32_t>& stack_ids, const profile& of) {
  std::vector<std::uint32_t> index_of(stack_ids.size(), none);
  for (std::uint32_t i = 0; i < of.stacks.size(); ++i) index_of[of.stacks[i].id] = i;
  std::vector<std::uint32_t> result;
  for (const auto id : stack_ids) result.push_back(index_of[id]);
  return result;
}

void add_sizes(const segment_copy& segment, profile& to) {
  std::array<std::uint64_t, wire::size_buckets> sums{};
  for (const auto& writer : segment.writers)
    for (std::size_t bucket = 0; bucket < sums.size(); ++bucket) sums[bucket] += writer.sizes[bucket];
  for (std::size_t bucket = 0; bucket < sums.size(); ++bucket) {
    if (sums[bucket] == 0) continue;
    const std::uint64_t from = bucket == 0 ? 0 : std::uint64_t{1} << (bucket - 1);
    to.sizes.push_back({.from = from, .to = bucket == 0 ? 0 : 2 * from - 1, .allocations = sums[bucket]});
  }
}

void add_profiler(const segment_copy& segment, const books& sums, profile& to) {
  const auto& header = segment.header;
  auto& info = to.profiler;
  info.segment_bytes = segment.resident_bytes;
  info.private_bytes = header.private_bytes;
  info.tag_bytes = tag_bytes_of(header, to.totals().live_blocks());
  info.accounts = header.account_count;
  info.nodes = header.node_count;
  info.inherited_freed_bytes = header.inherited_freed_bytes;
  info.checked_stacks = header.check.stacks;
  info.checked_differences = header.check.differences;
  for (std::size_t i = 0; i < wire::loss_count; ++i)
    if (header.losses[i] != 0) info.losses[wire::loss_names[i]] += header.losses[i];
  if (sums.damaged_cells != 0) info.losses["damaged_cells"] = sums.damaged_cells;
}

}  // namespace

std::uint64_t tag_bytes_of(const wire::segment_header& header, std::int64_t live_blocks) {
  constexpr std::uint64_t most_blocks = std::uint64_t{1} << 51;
  const auto large_blocks = as_ns(header.large_blocks);
  if (live_blocks <= large_blocks) return 0;
  const auto tagged = std::min(static_cast<std::uint64_t>(live_blocks - large_blocks), most_blocks);
  return std::min<std::uint64_t>(header.tag_bytes_each, 64) * tagged;
}

profile to_profile(const segment_copy& segment, std::vector<std::uint32_t>* stack_of) {
  const auto& header = segment.header;
  auto sums = add_up(segment);
  add_lives(segment, sums);
  profile result;
  result.process = to_process(segment);
  if (header.threaded != 0) {
    result.peak.error_bytes =
        std::min<std::uint64_t>(header.hold_back_bytes, UINT32_MAX) * std::uint64_t{header.peak_threads};
  }
  if (sums.peak_is_now) {
    result.peak.time_ns = result.process.duration_ns;
  } else if (header.peak_monotonic_ns != 0) {
    result.peak.time_ns = since_start(header, header.peak_monotonic_ns);
  }
  const auto stack_ids = add_stacks(segment, sums, result);
  result.peak.error_bytes = std::min(result.peak.error_bytes, result.totals().allocated_bytes);
  const auto thread_of = add_threads(segment, result);
  auto indices = stack_indices(stack_ids, result);
  add_thread_shares(segment, indices, thread_of, result);
  if (stack_of != nullptr) *stack_of = std::move(indices);
  add_sizes(segment, result);
  add_lifetimes(segment, result);
  add_markers(segment, stack_ids, result);
  add_profiler(segment, sums, result);
  add_uncounted(segment.header, result.uncounted);
  return result;
}

profile collect_segment(const std::string& path) {
  const segment_file file(path);
  const auto segment = copy_segment(file);
  auto result = to_profile(segment);
  if (result.process.ended != ending::lost) return result;
  switch (find_image(file)) {
    case image_state::running:
      set_ending(result, ending::running,
                 result.process.detached ? result.process.duration_ns : since_start(segment.header, monotonic_ns()));
      break;
    case image_state::replaced:
      set_ending(result, ending::exited, result.process.duration_ns);
      result.process.replaced = true;
      break;
    case image_state::gone:
      break;
  }
  return result;
}

void set_ending(profile& of, ending how, std::int64_t duration_ns) {
  auto& time_ns = of.peak.time_ns;
  const counters total = of.totals();
  const bool it_lives = total.live_bytes() >= total.peak_bytes;  // else the peak may be the last moment mentioned
  if (it_lives && (!time_ns || *time_ns == of.process.duration_ns)) time_ns = duration_ns;
  of.process.ended = how;
  of.process.duration_ns = duration_ns;
}

bool looks_like_segment(std::string_view first_bytes) {
  std::uint64_t magic = 0;
  if (first_bytes.size() < sizeof magic) return false;
  std::memcpy(&magic, first_bytes.data(), sizeof magic);
  return (magic & 0x0000'ffff'ffff'ffff) == (wire::segment_magic & 0x0000'ffff'ffff'ffff);
}

}  // namespace heapledger::collect

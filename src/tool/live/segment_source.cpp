// A running program's samples. Each refresh copies its counters from the segment file; the program is not asked.
#include <poll.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <utility>

#include "tool/collect/books.hpp"
#include "tool/collect/mapped_memory.hpp"
#include "tool/collect/memory_map.hpp"
#include "tool/collect/pools.hpp"
#include "tool/collect/process.hpp"
#include "tool/collect/resident_parts.hpp"
#include "tool/collect/scopes.hpp"
#include "tool/collect/segment.hpp"
#include "tool/collect/stack_tree.hpp"
#include "tool/live/leak_marks.hpp"
#include "tool/live/mapped.hpp"
#include "tool/live/pools.hpp"
#include "tool/live/source.hpp"
#include "tool/live/view.hpp"
#include "tool/profile/pair_index.hpp"

namespace heapledger::live {
namespace {

constexpr std::uint64_t names_pause_ns = 2'000'000'000;

double per_ns(std::uint64_t now, std::uint64_t before, std::int64_t passed_ns) {
  return static_cast<double>(static_cast<std::int64_t>(now - before)) * 1e9 / static_cast<double>(passed_ns);
}

per_second rate_of(const counters& now, const counters& before, std::int64_t passed_ns) {
  return {
      per_ns(static_cast<std::uint64_t>(now.live_bytes()), static_cast<std::uint64_t>(before.live_bytes()), passed_ns),
      per_ns(now.allocations, before.allocations, passed_ns)};
}

// The counters of the sample before, by a row's id.
class history {
 public:
  void add_rates(std::vector<row>& rows, std::int64_t passed_ns) {
    for (auto& each : rows) {
      if (each.id >= before_.size()) before_.resize(each.id + 1);
      if (passed_ns > 0) each.rate = rate_of(each.count, before_[each.id], passed_ns);
      before_[each.id] = each.count;
    }
  }

 private:
  std::vector<counters> before_;
};

class segment_source : public source {
 public:
  segment_source(const collect::running_program& program, symbol_names& names)
      : names_(names),
        pid_(program.pid),
        file_(program.segment, collect::links::refused),
        pidfd_(collect::open_pidfd(pid_)) {
    copy_.path = program.segment;
    process_.pid = static_cast<std::uint32_t>(program.pid);
    process_.exe = program.exe;
    process_.command = program.command;
    names_.of_process(pid_);
  }

  const process_info& process() const override { return process_; }

  const sample& take() override {
    sample next;
    next.state = look();  // before the books: what is read after the end is the end
    const auto now_ns = collect::monotonic_ns();
    collect::refresh_segment(file_, copy_);
    collect::refresh_mappings(file_, copy_);
    // A million rows are hundreds of megabytes, which the kernel would have to clear for each sample.
    next.stacks = std::move(last_.stacks);
    next.stacks.clear();
    const auto start_ns = copy_.header.start_monotonic_ns;
    process_.attached_after_ns =
        static_cast<std::int64_t>(std::min(copy_.header.attached_after_ns, std::uint64_t{1} << 62));
    next.time_ns =
        now_ns > start_ns ? static_cast<std::int64_t>(std::min(now_ns - start_ns, std::uint64_t{1} << 62)) : 0;
    add_stacks(next);
    add_threads(next, now_ns);
    add_pools(next);
    if (next.state == watched::running) look_at_memory(next, now_ns);
    add_mapped(next);
    const auto passed_ns = has_sampled_ ? next.time_ns - last_.time_ns : 0;
    if (passed_ns > 0) next.rate = rate_of(next.totals, last_.totals, passed_ns);
    stacks_before_.add_rates(next.stacks, passed_ns);
    threads_before_.add_rates(next.threads, passed_ns);
    scopes_before_.add_rates(next.scopes, passed_ns);
    pools_before_.add_rates(next.pools, passed_ns);
    mapped_before_.add_rates(next.mapped, passed_ns);
    has_sampled_ = true;
    last_ = std::move(next);
    return last_;
  }

  const profile& describe(subject what, std::span<const std::uint32_t> rows) override {
    profile& result = shown_ = {};
    result.process = process_;
    const bool is_malloc = what == subject::stack;
    collect::scope_reader scopes(copy_, result);
    std::vector<std::uint32_t> innermost;
    for (const auto index : rows) {
      const auto id = rows_of(last_, what)[index].id;
      innermost.push_back(is_malloc ? copy_.account_keys[id].node : copy_.mapping_sites[id].node);
    }
    const auto nodes = collect::build_stack_tree(copy_, std::move(innermost), result);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& of = rows_of(last_, what)[rows[i]];
      result.stacks.push_back({.id = of.id, .node = nodes[i], .scope = {}, .count = of.count});
      if (is_malloc) result.stacks.back().scope = scopes.path_of(scopes.kind_of(copy_.account_keys[of.id]));
    }
    names_.apply(result);
    return result;
  }

 private:
  watched look() const {
    if (pidfd_) {
      pollfd ready{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 0) == 1) return watched::ended;
    }
    switch (collect::find_image(file_)) {
      case collect::image_state::running:
        return watched::running;
      case collect::image_state::replaced:
        return watched::other_image;
      case collect::image_state::gone:
        break;
    }
    return watched::ended;
  }

  void add_stacks(sample& to) {
    const auto sums = collect::add_up(copy_);
    profile kinds;
    collect::scope_reader scopes(copy_, kinds);
    const bool has_scopes = copy_.scopes.size() > 1;
    std::vector<counters> by_kind(std::max<std::size_t>(copy_.scopes.size(), 1));
    pair_index places;  // accounts of one kind and stack are one row
    to.stacks.reserve(sums.accounts.size());
    for (std::uint32_t i = 0; i < sums.accounts.size(); ++i) {
      const auto& count = sums.accounts[i];
      if (count.allocations == 0 && count.frees == 0 && count.peak_bytes == 0) continue;
      to.totals += count;
      const auto& key = copy_.account_keys[i];
      const auto kind = scopes.kind_of(key);
      if (has_scopes) by_kind[kind] += count;
      if (kind != 0) {
        const auto known = places.find_or_add(kind, key.node, to.stacks.size());
        if (!known.is_new) {
          to.stacks[known.number].count += count;
          continue;
        }
      }
      to.stacks.push_back({.id = i, .name = {}, .count = count, .rate = {}});
    }
    if (has_scopes) add_scopes(by_kind, scopes, to);
    add_leak_marks(to, file_, copy_, scopes);
  }

  void add_scopes(std::vector<counters>& by_kind, collect::scope_reader& scopes, sample& to) const {
    to.scopes.push_back({.id = 0, .name = "(in no scope)", .count = by_kind[0], .rate = {}});
    for (auto kind = static_cast<std::uint32_t>(by_kind.size()); kind-- > 1;) {
      const auto parent = copy_.scopes[kind].parent;
      if (parent != 0 && parent < kind) by_kind[parent] += by_kind[kind];
    }
    for (std::uint32_t kind = 1; kind < by_kind.size(); ++kind) {
      std::string name;
      for (const auto& part : scopes.path_of(kind)) name += (name.empty() ? "" : " / ") + part;
      to.scopes.push_back({.id = kind, .name = std::move(name), .count = by_kind[kind], .rate = {}});
    }
  }

  void add_pools(sample& to) const {
    if (copy_.pool_kinds.size() <= 1) return;
    profile heaps;
    collect::add_pools(copy_, std::vector<std::uint32_t>(copy_.pool_sites.size()), heaps);
    to.pools = pool_rows(heaps);
  }

  // The parts of it only where the program maps memory itself: they take more than a look at the totals.
  void look_at_memory(sample& to, std::uint64_t now_ns) {
    const auto resident = collect::resident_totals_of(pid_);
    if (!resident) return;
    to.rss_bytes = resident->rss;
    if (copy_.mapping_sites.size() <= 1) return;
    const collect::quick_totals totals{.allocations = to.totals.allocations,
                                       .frees = to.totals.frees,
                                       .allocated_bytes = to.totals.allocated_bytes,
                                       .freed_bytes = to.totals.freed_bytes};
    memory_.sample(file_, pid_, *resident, totals, now_ns);
    if (memory_.last()) to.mapped_resident_bytes = memory_.last()->mapped_bytes;
  }

  void add_mapped(sample& to) const {
    std::vector<std::uint32_t> sites(copy_.mapping_sites.size());
    std::iota(sites.begin(), sites.end(), 0);
    profile memory;
    collect::add_mapped(copy_, sites, memory);  // a site's index stands for its node
    if (!memory.mapped) return;
    if (memory_.sorted_ns() != 0) collect::add_mapped_residency(copy_, memory_.mapped_residency(), 0, memory);
    std::vector<std::uint32_t> ids;
    for (const auto& site : memory.mapped->sites) ids.push_back(site.node);
    to.mapped = mapped_rows(*memory.mapped, ids);
  }

  void add_threads(sample& to, std::uint64_t now_ns) {
    if (to.state == watched::running && now_ns - names_read_ns_ >= names_pause_ns) {
      if (!collect::has_own_pids(file_)) thread_names_ = collect::thread_names_of(pid_);
      names_read_ns_ = now_ns;
    }
    for (std::uint32_t i = 0; i < copy_.threads.size(); ++i) {
      const auto& thread = copy_.threads[i];
      if (thread.allocations == 0 && thread.frees == 0) continue;
      const auto known = thread_names_.find(thread.tid);
      const bool runs = thread.state == wire::thread_state::running;
      std::string name = runs && known != thread_names_.end()
                             ? known->second
                             : std::string(thread.name, ::strnlen(thread.name, sizeof thread.name));
      if (i == 0)
        name = "(threads without a record)";
      else
        name += (runs ? " " : " (ended) ") + std::to_string(thread.tid);
      to.threads.push_back({.id = i,
                            .name = std::move(name),
                            .count = {.allocations = thread.allocations,
                                      .allocated_bytes = thread.allocated_bytes,
                                      .frees = thread.frees,
                                      .freed_bytes = thread.freed_bytes},
                            .rate = {}});
    }
  }

  symbol_names& names_;
  pid_t pid_;
  collect::segment_file file_;
  collect::unique_fd pidfd_;
  process_info process_;
  collect::segment_copy copy_;
  sample last_;
  profile shown_;
  bool has_sampled_ = false;
  history stacks_before_, threads_before_, scopes_before_, pools_before_, mapped_before_;
  collect::memory_sampler memory_;
  std::map<std::uint32_t, std::string> thread_names_;
  std::uint64_t names_read_ns_ = 0;
};

}  // namespace

std::unique_ptr<source> watch_program(const collect::running_program& program, symbol_names& names) {
  return std::make_unique<segment_source>(program, names);
}

}  // namespace heapledger::live

#include "tool/report/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/lifetimes.hpp"
#include "tool/analyse/mismatches.hpp"
#include "tool/analyse/scopes.hpp"
#include "tool/analyse/seen_peak.hpp"
#include "tool/report/json_frames.hpp"
#include "tool/report/json_text.hpp"
#include "tool/report/places_json.hpp"

namespace heapledger::report {
namespace {

class json_writer {
 public:
  json_writer(const profile& p, const json_options& options, const json_sink& sink)
      : p_(p), options_(options), sink_(sink), frames_(p) {}

  void write() {
    add(R"({{"format":"heapledger-report","version":1,)");
    write_process();
    write_totals();
    write_threads();
    write_sizes(p_.sizes);
    out_ += ",\n";
    write_lifetimes();
    write_profiler();
    write_modules();
    write_memory("memory", p_.memory);
    write_memory("memory_peak", p_.memory_peak);
    write_stacks();
    write_left_out();
    write_scopes();
    write_pools();
    write_mapped();
    write_freers();
    write_timeline();
    write_places();
    write_markers();
    write_errors();
    write_uncounted();
    out_ += "}\n";
    flush();
  }

 private:
  template <class... Arguments>
  void add(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
    if (out_.size() >= json_piece_bytes) flush();
  }

  void flush() {
    sink_(out_);
    out_.clear();
  }

  template <class List, class Element>
  void write_list(const char* name, const List& list, Element&& element) {
    add("\"{}\":[", name);
    const char* separator = "";
    for (const auto& entry : list) {
      out_ += std::exchange(separator, ",\n");
      element(entry);
    }
    add("]");
  }

  void write_process() {
    static constexpr const char* endings[] = {"exited", "signaled", "running", "lost"};
    const process_info& process = p_.process;
    add("\"process\":{{\"pid\":{},\"exe\":{},", process.pid, json_string(process.exe));
    write_list("command", process.command, [&](const std::string& word) { out_ += json_string(word); });
    add(",\"start_time\":{},\"duration\":{},\"ended\":\"{}\"", json_seconds(process.start_realtime_ns),
        json_seconds(process.duration_ns), endings[static_cast<std::size_t>(process.ended)]);
    if (process.exit_code) add(",\"exit_code\":{}", *process.exit_code);
    if (process.signal) add(",\"signal\":{}", *process.signal);
    if (process.parent_pid != 0) add(",\"parent_pid\":{}", process.parent_pid);
    if (process.forked) out_ += ",\"forked\":true";
    if (process.replaced) out_ += ",\"replaced\":true";
    if (process.attached_after_ns > 0) add(",\"attached_after\":{}", json_seconds(process.attached_after_ns));
    if (process.detached) out_ += ",\"detached\":true";
    if (!process.stacks.empty()) add(",\"stacks\":{}", json_string(process.stacks));
    if (process.depth_limit != 0) add(",\"depth_limit\":{}", process.depth_limit);
    if (!process.host.empty()) add(",\"host\":{}", json_string(process.host));
    out_ += "},\n";
  }

  void write_totals() {
    const counters sum = p_.totals();
    add(R"("totals":{{"allocations":{},"frees":{},"reallocations":{},"temporaries":{},"allocated_bytes":{},)",
        sum.allocations, sum.frees, sum.reallocations, sum.temporaries, sum.allocated_bytes);
    add(R"("freed_bytes":{},"live_blocks":{},"live_bytes":{})", sum.freed_bytes, sum.live_blocks(), sum.live_bytes());
    if (!p_.window) add(R"(,"peak_bytes":{},"peak_bytes_error":{})", sum.peak_bytes, p_.peak.error_bytes);
    if (const auto seen = analyse::seen_above_peak(p_)) add(R"(,"peak_bytes_seen":{})", seen->live_bytes);
    if (p_.peak.time_ns) add(",\"peak_time\":{}", json_seconds(*p_.peak.time_ns));
    write_life(sum.life);
    out_ += "},\n";
  }

  void write_threads() {
    write_list("threads", p_.threads, [&](const thread_info& thread) {
      add(R"({{"tid":{},"name":{},"allocations":{},"frees":{},"allocated_bytes":{},"freed_bytes":{},"start":{})",
          thread.tid, json_string(thread.name), thread.allocations, thread.frees, thread.allocated_bytes,
          thread.freed_bytes, json_seconds(thread.start_ns));
      if (thread.end_ns) add(",\"end\":{}", json_seconds(*thread.end_ns));
      out_ += "}";
    });
    out_ += ",\n";
  }

  void write_sizes(const std::vector<size_bucket>& sizes) {
    write_list("sizes", sizes, [&](const size_bucket& bucket) {
      add(R"({{"from":{},"to":{},"allocations":{}}})", bucket.from, bucket.to, bucket.allocations);
    });
  }

  void write_lifetimes() {
    if (!p_.process.lives_timed) return;
    write_list("lifetimes", p_.lifetimes, [&](const lifetime_bucket& bucket) {
      add(R"({{"from":{},"to":{},"frees":{},"freed_bytes":{}}})", json_time(bucket.from_ns), json_time(bucket.to_ns),
          bucket.frees, bucket.freed_bytes);
    });
    out_ += ",\n";
  }

  void write_life(const lives& life) {
    if (!p_.process.lives_timed) return;
    add(",\"timed_frees\":{}", life.ended);
    if (const auto mean_ns = analyse::mean_life_ns(life)) add(",\"mean_lifetime\":{}", json_seconds(*mean_ns));
    if (const auto mean_ns = analyse::mean_age_ns(life, p_.process.duration_ns))
      add(",\"mean_age\":{}", json_seconds(*mean_ns));
  }

  static std::string json_time(std::uint64_t ns) {
    return json_seconds(static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX)));
  }

  void write_profiler() {
    const profiler_info& own = p_.profiler;
    add(R"("profiler":{{"own_bytes":{},"tag_bytes":{},"accounts":{},"nodes":{},"losses":{{)",
        own.segment_bytes + own.private_bytes, own.tag_bytes, own.accounts, own.nodes);
    const char* separator = "";
    for (const auto& [name, count] : own.losses) {
      add("{}{}:{}", std::exchange(separator, ","), json_string(name), count);
    }
    out_ += "}";
    if (own.inherited_freed_bytes != 0) add(",\"inherited_freed_bytes\":{}", own.inherited_freed_bytes);
    if (own.checked_stacks != 0) {
      add(R"(,"check":{{"stacks":{},"differences":{}}})", own.checked_stacks, own.checked_differences);
    }
    out_ += "},\n";
  }

  void write_modules() {
    write_list("modules", p_.modules, [&](const module_info& module) {
      add(R"({{"path":{},"start":{},"end":{},"bias":{},"loaded":{})", json_string(module.path),
          json_address(module.start), json_address(module.end), json_address(module.bias),
          json_seconds(module.loaded_ns));
      if (!module.build_id.empty()) add(",\"build_id\":{}", json_string(module.build_id));
      if (module.unloaded_ns) add(",\"unloaded\":{}", json_seconds(*module.unloaded_ns));
      out_ += "}";
    });
    out_ += ",\n";
  }

  void write_memory(const char* name, const std::optional<memory_map>& map) {
    if (!map) return;
    add(R"("{}":{{"time":{},"rss_bytes":{},"live_bytes":{},"tag_bytes":{},"profiler_bytes":{},)", name,
        json_seconds(map->time_ns), map->rss_bytes, map->live_bytes, map->tag_bytes, map->profiler_bytes);
    add(R"("allocator_bytes":{},"mapped_bytes":{},"file_bytes":{},"stack_bytes":{},"other_bytes":{}}},)"
        "\n",
        map->allocator_bytes, map->mapped_bytes, map->file_bytes, map->stack_bytes, map->other_bytes);
  }

  std::vector<std::uint32_t> shown_stacks() const {
    if (options_.left_out.empty()) return analyse::rank_stacks(p_.stacks, options_.by, options_.top);
    auto shown = analyse::rank_stacks(p_.stacks, options_.by, 0);
    std::erase_if(shown, [&](auto index) { return options_.left_out[index]; });
    if (options_.top != 0 && shown.size() > options_.top) shown.resize(options_.top);
    return shown;
  }

  // With it the stacks add up to the totals.
  void write_left_out() {
    if (options_.left_out.empty()) return;
    counters sum;
    std::size_t stacks = 0;
    for (std::size_t i = 0; i < p_.stacks.size(); ++i) {
      if (!options_.left_out[i]) continue;
      sum += p_.stacks[i].count;
      ++stacks;
    }
    add("\"left_out\":{{\"stacks\":{},", stacks);
    write_counts(sum);
    add(",\"temporaries\":{},\"reallocations\":{}", sum.temporaries, sum.reallocations);
    if (!p_.window) add(",\"peak_bytes\":{}", sum.peak_bytes);
    out_ += "},\n";
  }

  void write_stacks() {
    write_list("stacks", shown_stacks(), [&](std::uint32_t index) {
      const stack_entry& stack = p_.stacks[index];
      const counters& count = stack.count;
      add("{{\"id\":{},", stack.id);
      write_list("scope", stack.scope, [&](const std::string& name) { out_ += json_string(name); });
      add(R"(,"allocations":{},"frees":{},"temporaries":{},"reallocations":{},"allocated_bytes":{},)",
          count.allocations, count.frees, count.temporaries, count.reallocations, count.allocated_bytes);
      add(R"("freed_bytes":{},"live_blocks":{},"live_bytes":{})", count.freed_bytes, count.live_blocks(),
          count.live_bytes());
      if (!p_.window) add(",\"peak_bytes\":{}", count.peak_bytes);
      write_life(count.life);
      if (stack.thread != none) add(",\"tid\":{}", p_.threads[stack.thread].tid);
      out_ += ",\"frames\":[";
      const auto frames = frames_.of(stack.node, options_.depth == 0 ? SIZE_MAX : options_.depth);
      out_ += frames.text + "]";
      if (frames.left_out != 0) add(",\"frames_left_out\":{}", frames.left_out);
      out_ += "}";
    });
    out_ += ",\n";
  }

  void write_counts(const counters& count) {
    add(R"("allocations":{},"frees":{},"allocated_bytes":{},"freed_bytes":{},"live_blocks":{},"live_bytes":{})",
        count.allocations, count.frees, count.allocated_bytes, count.freed_bytes, count.live_blocks(),
        count.live_bytes());
  }

  void write_scopes() {
    const auto rows = analyse::scope_rows(p_);
    if (rows.empty()) return;
    std::map<std::uint32_t, std::vector<const scope_moment*>> moments;
    for (const auto& moment : p_.scope_timeline) moments[moment.scope].push_back(&moment);
    write_list("scopes", rows, [&](const analyse::scope_row& row) {
      out_ += "{";
      write_list("scope", row.path, [&](const std::string& name) { out_ += json_string(name); });
      out_ += ",";
      write_counts(row.alone);
      out_ += ",\"with_descendants\":{";
      write_counts(row.all);
      out_ += "}";
      if (row.info != nullptr) write_scope_info(*row.info);
      if (row.info != nullptr) write_scope_timeline(moments[static_cast<std::uint32_t>(row.info - p_.scopes.data())]);
      out_ += "}";
    });
    out_ += ",\n";
  }

  void write_freers() {
    if (p_.freers.empty()) return;
    write_list("freers", p_.freers, [&](const freer_info& row) {
      out_ += "{";
      write_list("owner", row.owner, [&](const std::string& name) { out_ += json_string(name); });
      out_ += ",";
      write_list("freed_by", row.by, [&](const std::string& name) { out_ += json_string(name); });
      add(R"(,"frees":{},"freed_bytes":{},"late_frees":{},"late_bytes":{}}})", row.frees, row.freed_bytes,
          row.late_frees, row.late_bytes);
    });
    out_ += ",\n";
  }

  void write_places() {
    const auto places = places_json(p_, frames_, options_.left_out);
    if (!places.empty()) add("\"places\":[{}],\n", places);
  }

  void write_scope_timeline(const std::vector<const scope_moment*>& moments) {
    if (moments.empty()) return;
    out_ += ",";
    write_list("timeline", moments, [&](const scope_moment* moment) {
      add("{{\"time\":{},\"live_bytes\":{}}}", json_seconds(moment->time_ns), moment->live_bytes);
    });
  }

  void write_scope_info(const scope_info& info) {
    add(R"(,"opened":{},"closed":{},"peak_bytes":{},"refusals":{},"overdrafts":{})", info.opened, info.closed,
        info.peak_bytes, info.refusals, info.overdrafts);
    const char* separator = ",\"budget\":{";
    const auto limit = [&](const char* name, const std::optional<std::int64_t>& value) {
      if (value) add("{}\"{}\":{}", std::exchange(separator, ","), name, *value);
    };
    limit("live_bytes", info.live_bytes_limit);
    limit("allocated_bytes", info.allocated_bytes_limit);
    limit("allocations", info.allocations_limit);
    if (separator[1] == 0) out_ += "}";
  }

  void write_pools() {
    if (p_.pools.empty()) return;
    write_list("pools", p_.pools, [&](const pool_info& pool) {
      add(R"({{"name":{},"chunk_bytes":{},"opened":{},"closed":{},"allocations":{},"frees":{},"allocated_bytes":{},)",
          json_string(pool.name), pool.chunk_bytes, pool.opened, pool.closed, pool.allocations, pool.frees,
          pool.allocated_bytes);
      add(R"("chunks_in_use":{},"pages":{},"page_bytes":{},"peak_page_bytes":{},"arenas":{},)", pool.chunks_in_use(),
          pool.pages, pool.page_bytes, pool.peak_page_bytes, pool.arenas);
      write_sizes(pool.sizes);
      out_ += ",";
      write_list("stacks", pool.sites, [&](const pool_site& site) {
        add(R"({{"allocations":{},"frees":{},"allocated_bytes":{},"freed_bytes":{},"live_bytes":{},"frames":[)",
            site.allocations, site.frees, site.allocated_bytes, site.freed_bytes, site.live_bytes());
        out_ += frames_.of(site.node);
        out_ += "]}";
      });
      out_ += "}";
    });
    out_ += ",\n";
  }

  void write_mapped() {
    if (!p_.mapped) return;
    add(R"("mapped":{{"peak_bytes":{},)", p_.mapped->peak_bytes);
    if (p_.mapped->seen_ns) add("\"seen\":{},", json_seconds(*p_.mapped->seen_ns));
    write_list("stacks", p_.mapped->sites, [&](const mapped_site& site) {
      add(R"({{"kind":{},"calls":{},"mapped_bytes":{},"unmapped_bytes":{},"live_bytes":{},"ranges":{},)",
          json_string(site.kind), site.calls, site.mapped_bytes, site.unmapped_bytes, site.live_bytes(), site.ranges);
      if (p_.mapped->seen_ns)
        add(R"("resident_bytes":{},"most_resident_bytes":{},)", site.resident_bytes, site.most_resident_bytes);
      out_ += "\"frames\":[";
      out_ += frames_.of(site.node);
      out_ += "]}";
    });
    out_ += "},\n";
  }

  void write_timeline() {
    write_list("timeline", p_.timeline, [&](const timeline_point& point) {
      add(R"({{"time":{},"live_bytes":{},"live_blocks":{},"allocations":{})", json_seconds(point.time_ns),
          point.live_bytes, point.live_blocks, point.allocations);
      if (point.rss_bytes != 0) add(",\"rss_bytes\":{}", point.rss_bytes);
      out_ += "}";
    });
    out_ += ",\n";
  }

  void write_marker(const marker_info& marker) {
    add(R"({{"time":{},"name":{},"live_bytes":{},"live_blocks":{})", json_seconds(marker.time_ns),
        json_string(marker.name), marker.live_bytes, marker.live_blocks);
    if (marker.snapshot) out_ += ",\"snapshot\":true";
    out_ += "}";
  }

  void write_markers() {
    if (!p_.markers.empty()) {
      write_list("markers", p_.markers, [&](const marker_info& marker) { write_marker(marker); });
      out_ += ",\n";
    }
    if (!p_.window) return;
    out_ += "\"since\":";
    write_marker(p_.window->since);
    out_ += ",\"until\":";
    write_marker(p_.window->until);
    out_ += ",\n";
  }

  void write_errors() {
    write_list("errors", analyse::judged_errors(p_), [&](const analyse::judged_error& judged) {
      const auto& [error, doubt] = judged;
      add(R"({{"kind":{},"count":{},"stack":{})", json_string(error.kind), error.count, error.stack);
      if (!error.allocated_by.empty()) add(R"(,"allocated_by":{})", json_string(error.allocated_by));
      if (!error.freed_by.empty()) add(R"(,"freed_by":{})", json_string(error.freed_by));
      if (doubt != none) add(R"(,"doubt":{})", json_string(p_.modules[doubt].path));
      if (error.freed_node != 0) add(R"(,"freed_frames":[{}])", frames_.of(error.freed_node));
      add("}}");
    });
  }

  void write_uncounted() {
    if (p_.uncounted.empty()) return;
    out_ += ",\n";
    write_list("uncounted", p_.uncounted, [&](const uncounted_info& program) {
      add(R"({{"path":{},"reason":{},"times":{}}})", json_string(program.path), json_string(program.reason),
          program.times);
    });
  }

  const profile& p_;
  const json_options& options_;
  const json_sink& sink_;
  std::string out_;
  json_frames frames_;
};

}  // namespace

void write_json(const profile& p, const json_options& options, const json_sink& sink) {
  json_writer(p, options, sink).write();
}

}  // namespace heapledger::report

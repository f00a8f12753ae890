// pprof's profile.proto, compressed. Samples come first and the string table last, so that a profile of any size passes
// through in pieces; the order of fields in a message is free.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tool/export/format.hpp"
#include "tool/export/gzip.hpp"
#include "tool/export/names.hpp"
#include "tool/export/pprof_fields.hpp"
#include "tool/report/printable.hpp"

namespace heapledger::exports {
namespace {

using analyse::measure;
using protozero::pbf_writer;

struct value_type {
  const char* type;
  const char* unit;
  measure by;  // live objects have no measure of their own
};
// The order that heap profiles have had since the first pprof; the last one is what older readers show at first.
constexpr std::array value_types = {
    value_type{"alloc_objects", "count", measure::count},    value_type{"alloc_space", "bytes", measure::allocated},
    value_type{"temp_objects", "count", measure::temporary}, value_type{"peak_space", "bytes", measure::peak},
    value_type{"inuse_objects", "count", measure::live},     value_type{"inuse_space", "bytes", measure::live},
};

// pprof takes a name that is also the system's for one to shorten, by what stands in brackets. That is well for
// arguments, but not where brackets are of the name itself: <T as Trait>::f, (anonymous namespace)::f, operator().
bool brackets_name_it(std::string_view function) {
  const auto has = [&](std::string_view part) { return function.find(part) != std::string_view::npos; };
  return function.starts_with('<') || has("::<") || has("(anonymous") || has("operator()");
}

using sample_values = std::array<std::int64_t, value_types.size()>;

class pprof_writer {
 public:
  pprof_writer(const profile& p, const sink& out) : p_(p), names_(p), out_(out), string_ids_(p.strings.size(), 0) {}

  void write(measure by) {
    write_types(by);
    write_samples();
    write_mappings();
    write_locations();
    write_functions();
    write_process();
    write_strings();
    out_.write(buffer_);
    out_.finish();
  }

 private:
  pbf_writer top() {
    constexpr std::size_t piece_bytes = 256 * 1024;
    if (buffer_.size() >= piece_bytes) {
      out_.write(buffer_);
      buffer_.clear();
    }
    return pbf_writer(buffer_);
  }

  std::int64_t intern(const std::string& text) {
    if (text.empty()) return 0;
    const auto [found, added] = own_strings_.try_emplace(text, strings_.size());
    if (added) strings_.push_back(text);
    return static_cast<std::int64_t>(found->second);
  }
  // Strings of the profile are many, and known by number.
  std::int64_t intern(std::uint32_t string) {
    if (string == none || names_.text(string).empty()) return 0;
    if (string_ids_[string] == 0) {
      string_ids_[string] = static_cast<std::int64_t>(strings_.size());
      strings_.push_back(names_.text(string));
    }
    return string_ids_[string];
  }

  void write_type(std::uint32_t field, const char* type, const char* unit) {
    pbf_writer profile = top();
    pbf_writer value(profile, field);
    value.add_int64(pprof::value_type_type, intern(std::string(type)));
    value.add_int64(pprof::value_type_unit, intern(std::string(unit)));
  }

  void write_types(measure by) {
    const char* shown = "";
    for (const value_type& entry : value_types) {
      write_type(pprof::profile_sample_type, entry.type, entry.unit);
      if (entry.by == by) shown = entry.type;
    }
    write_type(pprof::profile_period_type, "space", "bytes");
    pbf_writer profile = top();
    profile.add_int64(pprof::profile_period, 1);
    profile.add_int64(pprof::profile_default_sample_type, intern(std::string(shown)));
  }

  void write_samples() {
    std::vector<std::uint64_t> locations;
    const bool knows_threads =
        std::any_of(p_.stacks.begin(), p_.stacks.end(), [](const auto& each) { return each.thread != none; });
    auto share = p_.thread_shares.begin();
    for (std::uint32_t index = 0; index < p_.stacks.size(); ++index) {
      const stack_entry& stack = p_.stacks[index];
      locations.clear();
      for (std::uint32_t node = stack.node; node != 0; node = p_.nodes[node].parent) {
        if (p_.nodes[node].location != none) locations.push_back(p_.nodes[node].location + 1U);
      }
      if (locations.empty()) locations.push_back(no_stack_id());
      const counters& count = stack.count;
      sample_values rest = {static_cast<std::int64_t>(count.allocations),
                            static_cast<std::int64_t>(count.allocated_bytes),
                            static_cast<std::int64_t>(count.temporaries),
                            count.peak_bytes,
                            count.live_blocks(),
                            count.live_bytes()};
      bool is_split = false;
      for (; share != p_.thread_shares.end() && share->stack == index; ++share) {
        const sample_values own = {static_cast<std::int64_t>(share->allocations),
                                   static_cast<std::int64_t>(share->allocated_bytes),
                                   static_cast<std::int64_t>(share->temporaries)};
        write_sample(locations, own, stack, thread_name(share->thread));
        for (std::size_t i = 0; i < own.size(); ++i) rest[i] -= own[i];
        is_split = true;
      }
      if (is_split && rest == sample_values{}) continue;
      write_sample(locations, rest, stack,
                   stack.thread != none ? thread_name(stack.thread)
                   : knows_threads      ? "several"
                                        : "");
    }
  }

  void write_sample(const std::vector<std::uint64_t>& locations, const sample_values& values, const stack_entry& stack,
                    const std::string& thread) {
    pbf_writer profile = top();
    pbf_writer sample(profile, pprof::profile_sample);
    sample.add_packed_uint64(pprof::sample_location_id, locations.begin(), locations.end());
    sample.add_packed_int64(pprof::sample_value, values.begin(), values.end());
    if (!stack.scope.empty()) write_label(sample, "scope", scope_path(stack.scope));
    if (!thread.empty()) write_label(sample, "thread", thread);
  }

  void write_label(pbf_writer& sample, const char* key, const std::string& value) {
    pbf_writer label(sample, pprof::sample_label);
    label.add_int64(pprof::label_key, intern(std::string(key)));
    label.add_int64(pprof::label_str, intern(value));
  }

  std::string thread_name(std::uint32_t thread) const {
    const auto& info = p_.threads[thread];
    return fmt::format("{} {}", report::terminal_text(info.name), info.tid);
  }

  std::uint64_t no_stack_id() {
    wants_no_stack_ = true;
    return p_.locations.size() + 1;
  }

  void write_mappings() {
    std::vector<bool> named(p_.modules.size(), false);
    for (const location& place : p_.locations) {
      if (place.module != none && !place.symbols.empty()) named[place.module] = true;
    }
    // The first mapping is the program, for every reader.
    std::vector<std::uint32_t> order;
    for (std::uint32_t i = 0; i < p_.modules.size(); ++i) order.push_back(i);
    std::stable_partition(order.begin(), order.end(),
                          [&](std::uint32_t i) { return p_.modules[i].path == p_.process.exe; });
    for (const std::uint32_t i : order) {
      const module_info& module = p_.modules[i];
      pbf_writer profile = top();
      pbf_writer mapping(profile, pprof::profile_mapping);
      mapping.add_uint64(pprof::mapping_id, i + 1U);
      mapping.add_uint64(pprof::mapping_memory_start, module.start);
      mapping.add_uint64(pprof::mapping_memory_limit, module.end);
      mapping.add_int64(pprof::mapping_filename, intern(names_.module(i)));
      mapping.add_int64(pprof::mapping_build_id, intern(report::terminal_text(module.build_id)));
      // Where there are names already, a reader need not look for its own.
      for (std::uint32_t flag = pprof::mapping_has_functions; flag <= pprof::mapping_has_inline_frames; ++flag) {
        mapping.add_bool(flag, named[i]);
      }
    }
  }

  std::uint64_t function_id(std::int64_t name, std::int64_t file) {
    const auto [found, added] = functions_.try_emplace({name, file}, functions_.size() + 1);
    return found->second;
  }

  void write_locations() {
    for (std::uint32_t i = 0; i < p_.locations.size(); ++i) {
      const location& place = p_.locations[i];
      pbf_writer profile = top();
      pbf_writer location(profile, pprof::profile_location);
      location.add_uint64(pprof::location_id, i + 1U);
      if (place.module != none) location.add_uint64(pprof::location_mapping_id, place.module + 1U);
      location.add_uint64(pprof::location_address,
                          place.address + (place.module == none ? 0 : p_.modules[place.module].bias));
      for (const std::uint32_t symbol : place.symbols) {
        const frame_info& frame = p_.frames[symbol];
        if (frame.function == none) continue;
        pbf_writer line(location, pprof::location_line);
        line.add_uint64(pprof::line_function_id, function_id(intern(frame.function), intern(frame.file)));
        line.add_int64(pprof::line_line, frame.line);
      }
    }
    if (!wants_no_stack_) return;
    pbf_writer profile = top();
    pbf_writer location(profile, pprof::profile_location);
    location.add_uint64(pprof::location_id, no_stack_id());
    pbf_writer line(location, pprof::location_line);
    line.add_uint64(pprof::line_function_id, function_id(intern(std::string(no_stack_name)), 0));
  }

  void write_functions() {
    for (const auto& [key, id] : functions_) {
      pbf_writer profile = top();
      pbf_writer function(profile, pprof::profile_function);
      function.add_uint64(pprof::function_id, id);
      function.add_int64(pprof::function_name, key.first);
      if (!brackets_name_it(strings_[static_cast<std::size_t>(key.first)]))
        function.add_int64(pprof::function_system_name, key.first);
      function.add_int64(pprof::function_filename, key.second);
    }
  }

  void write_process() {
    pbf_writer profile = top();
    profile.add_int64(pprof::profile_time_nanos, p_.process.start_realtime_ns);
    profile.add_int64(pprof::profile_duration_nanos, p_.process.duration_ns);
    profile.add_int64(pprof::profile_comment, intern(std::string("heapledger " HEAPLEDGER_VERSION)));
    profile.add_int64(pprof::profile_comment, intern(command_line(p_.process)));
  }

  void write_strings() {
    for (const auto& text : strings_) top().add_string(pprof::profile_string_table, text);
  }

  const profile& p_;
  safe_names names_;
  gzip_out out_;
  std::string buffer_;
  std::vector<std::string> strings_ = {""};
  std::vector<std::int64_t> string_ids_;  // by string of the profile; 0: not used so far
  std::map<std::string, std::size_t> own_strings_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint64_t> functions_;
  bool wants_no_stack_ = false;
};

}  // namespace

notes write_pprof(const profile& p, std::optional<measure> by, const sink& out) {
  pprof_writer(p, out).write(by.value_or(measure::peak));
  return {};
}

}  // namespace heapledger::exports

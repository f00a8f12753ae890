// speedscope's own JSON: one sampled profile for each measure, weights instead of times.
#include <fmt/ranges.h>

#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tool/export/format.hpp"
#include "tool/export/names.hpp"
#include "tool/export/text_out.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::exports {
namespace {

using analyse::measure;
using report::json_string;

struct title {
  measure by;
  const char* text;
  const char* unit;
};
constexpr std::array titles = {
    title{measure::peak, "at the peak", "bytes"},
    title{measure::live, "never freed", "bytes"},
    title{measure::allocated, "allocated", "bytes"},
    title{measure::count, "allocations", "none"},
    title{measure::temporary, "temporary allocations", "none"},
};

class speedscope_writer {
 public:
  speedscope_writer(const profile& p, const sink& out) : p_(p), names_(p), text_(out), ids_(p.locations.size()) {}

  void write(std::optional<measure> by) {
    text_.put(
        R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"heapledger )" HEAPLEDGER_VERSION
        R"(",)");
    text_.add("\"name\":{},\"activeProfileIndex\":0,\n\"shared\":{{\"frames\":[",
              json_string(command_line(p_.process)));
    write_frames();
    text_.put("]},\n\"profiles\":[");
    const char* separator = "\n";
    for (const title& entry : titles) {
      if (by ? entry.by != *by : entry.by == measure::temporary) continue;
      text_.put(std::exchange(separator, ",\n"));
      write_profile(entry);
    }
    text_.put("]}\n");
    text_.flush();
  }

 private:
  // One frame for a function in a file: the line would split a function into its calls.
  void write_frames() {
    first_.reserve(p_.locations.size());
    for (std::uint32_t i = 0; i < p_.locations.size(); ++i) {
      first_.push_back(static_cast<std::uint32_t>(frame_ids_.size()));
      const auto& symbols = p_.locations[i].symbols;
      if (symbols.empty()) frame_ids_.push_back(nameless_frame(i));
      for (const std::uint32_t symbol : symbols) frame_ids_.push_back(frame({i, symbol, false}));
    }
    first_.push_back(static_cast<std::uint32_t>(frame_ids_.size()));
    for (const stack_entry& stack : p_.stacks) {
      for (const auto& scope : stack.scope) {
        const auto [found, added] = scopes_.try_emplace(scope, frames_);
        if (added) add_frame(scope_frame(scope), {});
      }
    }
    no_stack_ = frames_;
    add_frame(no_stack_name, {});
  }

  void add_frame(std::string_view name, std::string_view file) {
    text_.add("{}{{\"name\":{}", frames_ == 0 ? "\n" : ",\n", json_string(name));
    if (!file.empty()) text_.add(",\"file\":{}", json_string(file));
    text_.put("}");
    ++frames_;
  }

  std::uint32_t nameless_frame(std::uint32_t location) {
    const std::uint32_t id = frames_;
    add_frame(names_.function({location, none, false}), names_.module(p_.locations[location].module));
    return id;
  }

  std::uint32_t frame(const analyse::frame_ref& frame) {
    const frame_info& info = p_.frames[frame.symbol];
    if (info.function == none) return nameless_frame(frame.location);
    const auto [found, added] = functions_.try_emplace({info.function, info.file}, frames_);
    if (added) add_frame(names_.function(frame), names_.file(frame));
    return found->second;
  }

  void write_profile(const title& entry) {
    std::int64_t total = 0;
    for_each_weight(entry.by, [&](const stack_entry&, std::int64_t weight) { total += weight; });
    text_.add(R"({{"type":"sampled","name":"{}","unit":"{}","startValue":0,"endValue":{},"samples":[)", entry.text,
              entry.unit, total);
    const char* separator = "\n";
    for_each_weight(entry.by, [&](const stack_entry& stack, std::int64_t) {
      text_.put(std::exchange(separator, ",\n"));
      write_sample(stack);
    });
    text_.put("],\n\"weights\":[");
    separator = "";
    for_each_weight(entry.by, [&](const stack_entry&, std::int64_t weight) {
      text_.add("{}{}", std::exchange(separator, ","), weight);
    });
    text_.put("]}");
  }

  template <class Visit>
  void for_each_weight(measure by, Visit&& visit) const {
    for (const stack_entry& stack : p_.stacks) {
      if (const std::int64_t weight = analyse::value_of(stack.count, by); weight > 0) visit(stack, weight);
    }
  }

  void write_sample(const stack_entry& stack) {
    path_.clear();
    for (std::uint32_t node = stack.node; node != 0; node = p_.nodes[node].parent) {
      if (p_.nodes[node].location != none) path_.push_back(p_.nodes[node].location);
    }
    const char* separator = "[";
    for (const auto& scope : stack.scope) text_.add("{}{}", std::exchange(separator, ","), scopes_.at(scope));
    for (auto location = path_.rbegin(); location != path_.rend(); ++location) {
      text_.put(std::exchange(separator, ","));
      text_.put(ids_of(*location));
    }
    if (path_.empty()) text_.add("{}{}", std::exchange(separator, ","), no_stack_);
    text_.put("]");
  }

  // Outermost first. Text that is the same each time: deep stacks have hundreds of millions of frames.
  std::string_view ids_of(std::uint32_t location) {
    std::string& text = ids_[location];
    if (text.empty()) {
      const auto ids = std::span(frame_ids_).subspan(first_[location], first_[location + 1] - first_[location]);
      text = fmt::format("{}", fmt::join(ids.rbegin(), ids.rend(), ","));
    }
    return text;
  }

  const profile& p_;
  safe_names names_;
  text_out text_;
  std::uint32_t frames_ = 0;
  std::uint32_t no_stack_ = 0;
  std::vector<std::uint32_t> first_;      // by location: where its frames begin in frame_ids_; one more at the end
  std::vector<std::uint32_t> frame_ids_;  // innermost first
  std::vector<std::string> ids_;          // by location
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> functions_;
  std::map<std::string, std::uint32_t> scopes_;
  std::vector<std::uint32_t> path_;
};

}  // namespace

notes write_speedscope(const profile& p, std::optional<measure> by, const sink& out) {
  speedscope_writer(p, out).write(by);
  return {};
}

}  // namespace heapledger::exports

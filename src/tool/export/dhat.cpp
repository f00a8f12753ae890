// DHAT's JSON, version 2: what dh_view.html opens. Bytes and blocks in all and at the end, and bytes at the peak, are
// exact, and lifetimes where they were timed: else they are 0. The format also asks for what counters do not know: the
// blocks at the peak and the most that a place ever held are bounded from below by what is known.
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tool/analyse/lifetimes.hpp"
#include "tool/analyse/path_hash.hpp"
#include "tool/export/format.hpp"
#include "tool/export/names.hpp"
#include "tool/export/place_text.hpp"
#include "tool/export/text_out.hpp"
#include "tool/report/json_text.hpp"

namespace heapledger::exports {
namespace {

using report::json_string;

constexpr std::int64_t microsecond_ns = 1000;

// As few blocks as the bytes at the peak can have been, if none was larger than the stack's average.
std::uint64_t blocks_at_peak(const counters& count, std::uint64_t peak_bytes) {
  if (peak_bytes == 0 || count.allocations == 0) return 0;
  const auto live = static_cast<std::uint64_t>(std::max<std::int64_t>(count.live_bytes(), 0));
  if (peak_bytes == live) return static_cast<std::uint64_t>(std::max<std::int64_t>(count.live_blocks(), 0));
  const std::uint64_t average = std::max<std::uint64_t>(count.allocated_bytes / count.allocations, 1);
  return std::clamp<std::uint64_t>(peak_bytes / average, 1, count.allocations);
}

class dhat_writer {
 public:
  dhat_writer(const profile& p, const sink& out) : p_(p), names_(p), text_(out), numbers_(p.locations.size()) {}

  void write() {
    const std::int64_t end = p_.process.duration_ns / microsecond_ns;
    const std::int64_t peak = p_.peak.time_ns.value_or(p_.process.duration_ns) / microsecond_ns;
    text_.put(R"({"dhatFileVersion":2,"mode":"heap","verb":"Allocated","bklt":true,"bkacc":false,)");
    text_.add("\"tu\":\"\u00b5s\",\"Mtu\":\"s\",\"tuth\":0,\"cmd\":{},\"pid\":{},\"te\":{},\"tg\":{},\n\"pps\":[",
              json_string(command_line(p_.process)), p_.process.pid, end, peak);
    number_frames();
    const char* separator = "\n";
    for (const auto& [stack, count] : distinct_stacks()) {
      text_.put(std::exchange(separator, ",\n"));
      write_stack(*stack, count);
    }
    text_.put("],\n\"ftbl\":[\"[root]\"");
    write_frames();
    text_.put("]}\n");
    text_.flush();
  }

 private:
  void number_frames() {
    std::uint32_t next = 1;
    for (const location& place : p_.locations) {
      first_.push_back(next);
      next += static_cast<std::uint32_t>(std::max<std::size_t>(place.symbols.size(), 1));
    }
    first_.push_back(next);
    no_stack_ = next++;
    for (const stack_entry& stack : p_.stacks) {
      for (const auto& scope : stack.scope) {
        if (scopes_.try_emplace(scope, next).second) {
          scope_order_.push_back(&scope);
          ++next;
        }
      }
    }
  }

  // The viewer refuses a file in which two entries have the same frames.
  std::vector<std::pair<const stack_entry*, counters>> distinct_stacks() const {
    std::vector<std::pair<const stack_entry*, counters>> distinct;
    std::unordered_map<analyse::path_hash, std::size_t, analyse::hash_of_path> known;
    for (const stack_entry& stack : p_.stacks) {
      analyse::path_hash path;
      for (std::uint32_t node = stack.node; node != 0; node = p_.nodes[node].parent) {
        if (p_.nodes[node].location != none) path.add(p_.nodes[node].location);
      }
      for (const auto& scope : stack.scope) path.add(scopes_.at(scope) + (std::uint64_t{1} << 32));
      const auto [found, added] = known.try_emplace(path, distinct.size());
      if (added) distinct.emplace_back(&stack, counters());
      distinct[found->second].second += stack.count;
    }
    return distinct;
  }

  void write_stack(const stack_entry& stack, const counters& count) {
    const std::int64_t live = std::max<std::int64_t>(count.live_bytes(), 0);
    const std::int64_t live_blocks = std::max<std::int64_t>(count.live_blocks(), 0);
    const std::int64_t peak = std::max<std::int64_t>(count.peak_bytes, 0);
    const auto peak_blocks = static_cast<std::int64_t>(blocks_at_peak(count, static_cast<std::uint64_t>(peak)));
    text_.add(R"({{"tb":{},"tbk":{},"tl":{:.0f},"mb":{},"mbk":{},"gb":{},"gbk":{},"eb":{},"ebk":{},"fs":[)",
              count.allocated_bytes, count.allocations,
              analyse::all_lived_ns(count.life, p_.process.duration_ns) / microsecond_ns, std::max(live, peak),
              std::max(live_blocks, peak_blocks), peak, peak_blocks, live, live_blocks);
    const char* separator = "";
    for (std::uint32_t node = stack.node; node != 0; node = p_.nodes[node].parent) {
      const std::uint32_t location = p_.nodes[node].location;
      if (location == none) continue;
      text_.put(std::exchange(separator, ","));
      text_.put(numbers_of(location));
    }
    if (*separator == 0) text_.add("{}{}", std::exchange(separator, ","), no_stack_);
    for (auto scope = stack.scope.rbegin(); scope != stack.scope.rend(); ++scope) text_.add(",{}", scopes_.at(*scope));
    text_.put("]}");
  }

  // Text that is the same each time: deep stacks have hundreds of millions of frames.
  std::string_view numbers_of(std::uint32_t location) {
    std::string& text = numbers_[location];
    if (text.empty()) {
      std::vector<std::uint32_t> frames(first_[location + 1] - first_[location]);
      std::iota(frames.begin(), frames.end(), first_[location]);
      text = fmt::format("{}", fmt::join(frames, ","));
    }
    return text;
  }

  void write_frames() {
    for (std::uint32_t i = 0; i < p_.locations.size(); ++i) {
      const auto& symbols = p_.locations[i].symbols;
      if (symbols.empty()) write_frame(place_text(p_, names_, {i, none, false}));
      for (const std::uint32_t symbol : symbols) write_frame(place_text(p_, names_, {i, symbol, false}));
    }
    write_frame(fmt::format("0x0: {}", no_stack_name));
    for (const std::string* scope : scope_order_) write_frame("0x0: " + scope_frame(*scope));
  }
  void write_frame(std::string_view text) { text_.add(",\n{}", json_string(text)); }

  const profile& p_;
  safe_names names_;
  text_out text_;
  std::vector<std::uint32_t> first_;  // by location: its innermost frame; one more at the end
  std::vector<std::string> numbers_;  // by location
  std::uint32_t no_stack_ = 0;
  std::map<std::string, std::uint32_t> scopes_;
  std::vector<const std::string*> scope_order_;
};

}  // namespace

notes write_dhat(const profile& p, std::optional<analyse::measure>, const sink& out) {
  dhat_writer(p, out).write();
  return {};
}

}  // namespace heapledger::exports

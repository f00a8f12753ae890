#include "tool/html/merge.hpp"

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "tool/profile/pair_index.hpp"

namespace heapledger::html {
namespace {

class merger {
 public:
  explicit merger(const diff::comparison& compared) : compared_(compared) {
    const profile& after = compared.after();
    profile& shown = merged_.shown;
    shown.process = after.process;
    shown.peak = after.peak;
    shown.modules = after.modules;
    shown.nodes.push_back({});
    shown.scopes = after.scopes;
    shown.threads = after.threads;
    shown.sizes = after.sizes;
    shown.lifetimes = after.lifetimes;
    shown.timeline = after.timeline;
    shown.memory = after.memory;
    shown.memory_peak = after.memory_peak;
    shown.profiler = after.profiler;
    shown.symbolized = after.symbolized;
    for (std::uint32_t i = 0; i < shown.modules.size(); ++i) modules_.try_emplace(shown.modules[i].path, i);
  }

  merged_profiles merge() {
    for (const auto& change : compared_.stacks()) {
      const auto frames = compared_.frames_of(change);
      std::uint32_t node = 0;
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        node = child(node, location_of(*frame, change));
      }
      const auto id = static_cast<std::uint32_t>(merged_.before.size() + 1);
      merged_.shown.stacks.push_back({id, node, *change.scope, change.after});
      merged_.before.push_back(change.before);
    }
    return std::move(merged_);
  }

 private:
  std::uint32_t child(std::uint32_t parent, std::uint32_t location) {
    auto& nodes = merged_.shown.nodes;
    const auto node = nodes_.find_or_add(parent, location, nodes.size());
    if (node.is_new) nodes.push_back({parent, location});
    return node.number;
  }

  std::uint32_t location_of(const diff::shown_frame& shown, const diff::stack_change& change) {
    const profile& in = compared_.shown_in(change);
    const diff::compared_frame& frame = compared_.frames()[shown.frame];
    const std::uint32_t file = string(analyse::file_name(in, shown.place));
    const std::uint32_t line = analyse::line_number(in, shown.place);
    const std::uint64_t address = frame.function.empty() ? in.locations[shown.place.location].address : 0;
    // A function is one, wherever its module lies; an address means something in its own build only.
    const std::uint32_t in_module = module(frame.function.empty() ? compared_.module_of(change, shown) : frame.module);
    const auto key = std::tuple(shown.frame, file, line, in_module, address);
    auto& locations = merged_.shown.locations;
    const auto [found, added] = locations_.try_emplace(key, locations.size());
    if (!added) return found->second;
    location place{address, in_module, {}};
    if (!frame.function.empty()) {
      place.symbols.push_back(static_cast<std::uint32_t>(merged_.shown.frames.size()));
      merged_.shown.frames.push_back({string(frame.function), file, line});
    }
    locations.push_back(std::move(place));
    return found->second;
  }

  std::uint32_t string(std::string_view text) {
    if (text.empty()) return none;
    auto& strings = merged_.shown.strings;
    const auto [found, added] = strings_.try_emplace(std::string(text), strings.size());
    if (added) strings.emplace_back(text);
    return found->second;
  }

  std::uint32_t module(std::string_view path) {
    if (path.empty()) return none;
    auto& modules = merged_.shown.modules;
    const auto [found, added] = modules_.try_emplace(std::string(path), modules.size());
    if (added) {
      modules.push_back({});
      modules.back().path = path;
    }
    return found->second;
  }

  const diff::comparison& compared_;
  merged_profiles merged_;
  pair_index nodes_;  // by parent and location
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint64_t>, std::uint32_t>
      locations_;
  std::unordered_map<std::string, std::uint32_t> strings_;
  std::unordered_map<std::string, std::uint32_t> modules_;  // by path
};

}  // namespace

merged_profiles merge_profiles(const diff::comparison& compared) {
  return merger(compared).merge();
}

}  // namespace heapledger::html

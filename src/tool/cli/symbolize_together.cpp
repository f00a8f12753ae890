#include "tool/cli/symbolize_together.hpp"

#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace heapledger::cli {
namespace {

struct place_hash {
  std::size_t operator()(const std::pair<std::uint32_t, std::uint64_t>& place) const {
    return std::hash<std::uint64_t>()(place.second * 0x9e37'79b9'7f4a'7c15 ^ place.first);
  }
};

// One profile that has the places of many, each once.
class union_of_places {
 public:
  union_of_places() { all.nodes.emplace_back(); }

  // For each module and each location of a profile, its index here.
  struct indices {
    std::vector<std::uint32_t> modules;
    std::vector<std::uint32_t> locations;
  };

  indices add(const profile& from) {
    std::vector<std::uint32_t> modules;
    for (const auto& module : from.modules) modules.push_back(add_module(module));
    std::vector<std::uint32_t> locations;
    for (const auto& place : from.locations) {
      const auto module = place.module < modules.size() ? modules[place.module] : none;
      const auto [known, is_new] =
          places_.try_emplace({module, place.address}, static_cast<std::uint32_t>(all.locations.size()));
      if (is_new) all.locations.push_back({.address = place.address, .module = module, .symbols = {}});
      locations.push_back(known->second);
    }
    for (std::size_t node = 1; node < from.nodes.size(); ++node)
      if (from.nodes[node].parent == 0 && from.nodes[node].location < locations.size())
        all.nodes.push_back({.parent = 0, .location = locations[from.nodes[node].location]});
    return {std::move(modules), std::move(locations)};
  }

  profile all;  // its tree has outermost frames only

 private:
  std::uint32_t add_module(const module_info& module) {
    const auto [known, is_new] =
        modules_.try_emplace({module.path, module.build_id}, static_cast<std::uint32_t>(all.modules.size()));
    if (is_new) all.modules.push_back(module);
    return known->second;
  }

  std::map<std::pair<std::string, std::string>, std::uint32_t> modules_;
  std::unordered_map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t, place_hash> places_;
};

// Takes frames over from one profile into another that has none yet, with the strings that they need.
class frame_taker {
 public:
  frame_taker(const profile& from, profile& to) : from_(from), to_(to) {}

  std::uint32_t frame(std::uint32_t index) {
    const auto [known, is_new] = frames_.try_emplace(index, static_cast<std::uint32_t>(to_.frames.size()));
    if (is_new) {
      const auto& frame = from_.frames[index];
      to_.frames.push_back({.function = string(frame.function), .file = string(frame.file), .line = frame.line});
    }
    return known->second;
  }

 private:
  std::uint32_t string(std::uint32_t index) {
    if (index == none) return none;
    const auto [known, is_new] = strings_.try_emplace(index, static_cast<std::uint32_t>(to_.strings.size()));
    if (is_new) to_.strings.push_back(from_.strings[index]);
    return known->second;
  }

  const profile& from_;
  profile& to_;
  std::unordered_map<std::uint32_t, std::uint32_t> frames_;
  std::unordered_map<std::uint32_t, std::uint32_t> strings_;
};

}  // namespace

void symbolize_together(std::span<profile> profiles, const symbolize_options& options) {
  if (profiles.size() == 1) {
    symbolize(profiles[0], options);
    return;
  }
  union_of_places together;
  std::vector<union_of_places::indices> indices;
  for (const auto& each : profiles) indices.push_back(together.add(each));
  symbolize(together.all, options);
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    frame_taker taker(together.all, profiles[i]);
    for (std::size_t place = 0; place < profiles[i].locations.size(); ++place) {
      const location& found = together.all.locations[indices[i].locations[place]];
      for (const auto frame : found.symbols) profiles[i].locations[place].symbols.push_back(taker.frame(frame));
      profiles[i].locations[place].lacks_rule = found.lacks_rule;
    }
    for (std::size_t module = 0; module < profiles[i].modules.size(); ++module)
      profiles[i].modules[module].symbol_advice = together.all.modules[indices[i].modules[module]].symbol_advice;
    profiles[i].symbolized = true;
  }
}

}  // namespace heapledger::cli

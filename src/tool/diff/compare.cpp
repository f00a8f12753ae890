#include "tool/diff/compare.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tool/analyse/machinery.hpp"
#include "tool/analyse/recursion.hpp"
#include "tool/diff/function_keys.hpp"
#include "tool/diff/identity.hpp"

namespace heapledger::diff {
namespace {

constexpr std::string_view the_program = "/";  // no module's name has a slash

std::string_view module_key(const profile& p, const module_info& module) {
  return module.path == p.process.exe ? the_program : same_module(module.path);
}

}  // namespace

class matcher {
 public:
  explicit matcher(comparison& result) : result_(result), keys_(result.before(), result.after()) {}

  void match() {
    find_equal_builds();
    // The newer first: its names are those that are shown.
    identify(result_.after_);
    identify(result_.before_);
    // To copy and hash millions of stacks anew as the tables grow takes a fifth of the time.
    const std::size_t likely = std::max(result_.after().stacks.size(), result_.before().stacks.size());
    result_.stacks_.reserve(likely);
    stacks_.reserve(likely);
    add_stacks(result_.after_, true);
    add_stacks(result_.before_, false);
  }

 private:
  using builds = std::set<std::pair<std::string_view, std::string_view>>;

  static builds builds_of(const profile& p) {
    builds found;
    for (const auto& module : p.modules) {
      if (!module.build_id.empty()) found.emplace(module_key(p, module), module.build_id);
    }
    return found;
  }

  void find_equal_builds() {
    const builds after = builds_of(result_.after());
    for (const auto& build : builds_of(result_.before())) {
      if (after.contains(build)) equal_builds_.insert(build);
    }
  }

  void identify(comparison::half& half) {
    const profile& p = *half.source;
    half.first.reserve(p.locations.size() + 1);
    for (std::uint32_t i = 0; i < p.locations.size(); ++i) {
      half.first.push_back(static_cast<std::uint32_t>(half.frames.size()));
      const location& place = p.locations[i];
      if (place.symbols.empty()) half.frames.push_back(frame_of(p, {i, none, false}));
      for (const std::uint32_t symbol : place.symbols) half.frames.push_back(frame_of(p, {i, symbol, false}));
    }
    half.first.push_back(static_cast<std::uint32_t>(half.frames.size()));
  }

  std::uint32_t frame_of(const profile& p, const analyse::frame_ref& frame) {
    const std::uint32_t index = analyse::module_index(p, frame);
    const module_info* module = index == none ? nullptr : &p.modules[index];
    const std::string_view module_name = module == nullptr ? std::string_view() : module_key(p, *module);
    const std::string_view function = analyse::function_name(p, frame);
    std::uint64_t place = 0;
    if (function.empty() && module != nullptr && equal_builds_.contains({module_name, module->build_id})) {
      place = p.locations[frame.location].address;
    }
    const function_key known = keys_.of(function);
    const auto [found, added] = frames_.try_emplace(std::tuple(known.key, module_name, place),
                                                    static_cast<std::uint32_t>(result_.frames_.size()));
    if (added) {
      const std::string_view path = module == nullptr ? std::string_view() : std::string_view(module->path);
      result_.frames_.push_back({known.shown, path, function.empty() && place == 0});
      const bool runtime = module != nullptr && analyse::is_system_runtime(module->path);
      const bool is_start = function.empty() ? runtime : analyse::is_start_code(function);
      result_.roles_.push_back(is_start           ? frame_role::start
                               : function.empty() ? frame_role::nameless
                                                  : frame_role::ordinary);
    }
    return found->second;
  }

  void add_stacks(const comparison::half& half, bool newer) {
    const auto hashes = folded_hashes(*half.source, half.first, half.frames, result_.roles_);
    for (const stack_entry& stack : half.source->stacks) {
      const auto scope = scopes_.try_emplace(stack.scope, scopes_.size()).first;
      analyse::path_hash key = hashes[stack.node];
      key.add(scope->second);
      const auto [found, added] = stacks_.try_emplace(key, static_cast<std::uint32_t>(result_.stacks_.size()));
      if (added) {
        result_.stacks_.emplace_back();
        result_.stacks_.back().scope = &stack.scope;
        result_.stacks_.back().node = stack.node;
      }
      stack_change& change = result_.stacks_[found->second];
      (newer ? change.after : change.before) += stack.count;
      ++(newer ? change.stacks_after : change.stacks_before);
      (newer ? result_.total_after_ : result_.total_before_) += stack.count;
    }
  }

  comparison& result_;
  function_keys keys_;
  builds equal_builds_;
  std::map<std::tuple<std::string_view, std::string_view, std::uint64_t>, std::uint32_t> frames_;
  std::map<std::vector<std::string>, std::uint64_t> scopes_;
  std::unordered_map<analyse::path_hash, std::uint32_t, analyse::hash_of_path> stacks_;
};

comparison::comparison(const profile& before, const profile& after) {
  before_.source = &before;
  after_.source = &after;
  matcher(*this).match();
}

// Without those that start main and threads, unless there are no others.
std::vector<std::uint64_t> comparison::expand(const half& part, std::uint32_t node) const {
  std::vector<std::uint64_t> keys;
  const profile& p = *part.source;
  for (; node != 0; node = p.nodes[node].parent) {
    const std::uint32_t location = p.nodes[node].location;
    if (location == none) continue;
    keys.insert(keys.end(), part.frames.begin() + part.first[location], part.frames.begin() + part.first[location + 1]);
  }
  starting_frames outside;
  for (std::size_t i = keys.size(); i-- > 0 && outside.goes_on();) outside.add(roles_[keys[i]]);
  if (outside.count() < keys.size()) keys.resize(keys.size() - outside.count());
  return keys;
}

std::optional<std::uint32_t> comparison::place_of(const stack_change& change, analyse::machinery& machinery) const {
  const half& shown = half_of(change);
  std::optional<std::uint32_t> place;
  std::uint32_t nameless = 0;
  for (std::uint32_t node = change.node; node != 0; node = shown.source->nodes[node].parent) {
    const std::uint32_t location = shown.source->nodes[node].location;
    if (location == none) continue;
    const auto& symbols = shown.source->locations[location].symbols;
    for (std::uint32_t i = 0; i < shown.first[location + 1] - shown.first[location]; ++i) {
      const std::uint32_t frame = shown.frames[shown.first[location] + i];
      if (!place) {
        if (machinery.is_wrapper({location, symbols.empty() ? none : symbols[i], i + 1 < symbols.size()})) continue;
        place = frame;
      }
      // What starts main and threads stands farther out than such a frame.
      nameless = roles_[frame] == frame_role::nameless ? nameless + 1 : 0;
      if (roles_[frame] == frame_role::ordinary || nameless > nameless_start_frames) return place;
    }
  }
  const auto frames = frames_of(change);
  if (frames.empty()) return {};
  const auto visible = std::find_if(frames.begin(), frames.end(),
                                    [&](const shown_frame& frame) { return !machinery.is_wrapper(frame.place); });
  return (visible == frames.end() ? frames.front() : *visible).frame;
}

std::string_view comparison::module_of(const stack_change& change, const shown_frame& frame) const {
  const profile& p = shown_in(change);
  const std::uint32_t index = analyse::module_index(p, frame.place);
  return index == none ? std::string_view() : std::string_view(p.modules[index].path);
}

std::vector<shown_frame> comparison::frames_of(const stack_change& change) const {
  const half& shown = half_of(change);
  const std::vector<std::uint64_t> keys = expand(shown, change.node);
  const auto places = analyse::expand_stack(*shown.source, change.node, keys.size());
  std::vector<shown_frame> frames;
  for (const auto& folded : analyse::fold_recursion(keys)) {
    frames.push_back(
        {static_cast<std::uint32_t>(keys[folded.index]), places[folded.index], folded.cycle, folded.times});
  }
  return frames;
}

}  // namespace heapledger::diff

#include "tool/diff/compare.hpp"

#include <map>
#include <set>
#include <tuple>
#include <unordered_map>

#include "tool/analyse/machinery.hpp"
#include "tool/analyse/path_hash.hpp"
#include "tool/analyse/recursion.hpp"
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
  explicit matcher(comparison& result) : result_(result) {}

  void match() {
    find_equal_builds();
    // The newer first: its names are those that are shown.
    identify(result_.after_);
    identify(result_.before_);
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
    const auto [found, added] = frames_.try_emplace(std::tuple(same_function(function), module_name, place),
                                                    static_cast<std::uint32_t>(result_.frames_.size()));
    if (added) {
      const std::string_view path = module == nullptr ? std::string_view() : std::string_view(module->path);
      result_.frames_.push_back({function, path, function.empty() && place == 0});
      const bool runtime = module != nullptr && analyse::is_system_runtime(module->path);
      result_.is_start_.push_back(function.empty() ? runtime : analyse::is_start_code(function));
    }
    return found->second;
  }

  void add_stacks(const comparison::half& half, bool newer) {
    std::vector<std::uint64_t> keys;
    for (const stack_entry& stack : half.source->stacks) {
      const auto scope = scopes_.try_emplace(stack.scope, scopes_.size()).first;
      analyse::path_hash key;
      key.add(scope->second);
      result_.expand(half, stack.node, keys);
      for (const auto& folded : analyse::fold_recursion(keys)) {
        key.add(keys[folded.index]);
        key.add(folded.cycle);
      }
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

// Returns how many frames the stack has with those that start main and threads; `keys` end before them.
std::size_t comparison::expand(const half& part, std::uint32_t node, std::vector<std::uint64_t>& keys) const {
  keys.clear();
  const profile& p = *part.source;
  for (; node != 0; node = p.nodes[node].parent) {
    const std::uint32_t location = p.nodes[node].location;
    if (location == none) continue;
    keys.insert(keys.end(), part.frames.begin() + part.first[location], part.frames.begin() + part.first[location + 1]);
  }
  const std::size_t all = keys.size();
  // _start of a stripped program has no name and stands outside of what is known to start it.
  constexpr std::size_t nameless_start_frames = 2;
  std::size_t end = all;
  for (std::size_t nameless = 0; end > nameless;) {
    const std::uint64_t frame = keys[end - 1 - nameless];
    if (is_start_[frame]) {
      end -= nameless + 1;
      nameless = 0;
    } else if (frames_[frame].function.empty() && nameless < nameless_start_frames) {
      ++nameless;
    } else {
      break;
    }
  }
  if (end != 0) keys.resize(end);
  return all;
}

std::string_view comparison::module_of(const stack_change& change, const shown_frame& frame) const {
  const profile& p = shown_in(change);
  const std::uint32_t index = analyse::module_index(p, frame.place);
  return index == none ? std::string_view() : std::string_view(p.modules[index].path);
}

std::vector<shown_frame> comparison::frames_of(const stack_change& change) const {
  const half& shown = half_of(change);
  std::vector<std::uint64_t> keys;
  expand(shown, change.node, keys);
  const auto places = analyse::expand_stack(*shown.source, change.node, keys.size());
  std::vector<shown_frame> frames;
  for (const auto& folded : analyse::fold_recursion(keys)) {
    frames.push_back(
        {static_cast<std::uint32_t>(keys[folded.index]), places[folded.index], folded.cycle, folded.times});
  }
  return frames;
}

}  // namespace heapledger::diff

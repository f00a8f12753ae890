#include "tool/symbolize/symbolize.hpp"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "tool/symbolize/advice.hpp"
#include "tool/symbolize/cut_off_guard.hpp"
#include "tool/symbolize/debug_files.hpp"
#include "tool/symbolize/frame_interner.hpp"
#include "tool/symbolize/packages.hpp"
#include "tool/symbolize/resolver.hpp"
#include "tool/symbolize/unwind_rules.hpp"

namespace heapledger {
namespace {

constexpr std::size_t progress_step = 4096;  // locations
constexpr const char* split_off =
    "no inlined functions: the .dwo files of its debug information are not where they were built (of a .dwp file they "
    "are read with elfutils 0.191 or later)";
constexpr const char* unreadable =
    "its debug information cannot be read: damaged, or compressed in a way that libdw does not know here, as with zstd "
    "(objcopy --decompress-debug-sections FILE)";

// All loads of one build, and the locations in them by address.
struct build {
  std::uint32_t module;
  std::vector<std::pair<std::uint64_t, std::uint32_t>> locations;
  std::string other_build_id;  // of the file on disk, when it is not the one that ran
};

using build_key = std::pair<std::string_view, std::string_view>;

build_key key_of(const module_info& module) {
  return {module.path, module.build_id};
}

std::vector<build> group_by_build(const profile& target) {
  std::map<build_key, std::size_t> known;
  std::vector<build> builds;
  for (std::uint32_t i = 0; i < target.locations.size(); ++i) {
    const auto& place = target.locations[i];
    if (place.module >= target.modules.size()) continue;
    const auto [entry, is_new] = known.emplace(key_of(target.modules[place.module]), builds.size());
    if (is_new) builds.push_back({place.module, {}, {}});
    builds[entry->second].locations.emplace_back(place.address, i);
  }
  for (auto& each : builds) std::sort(each.locations.begin(), each.locations.end());
  return builds;
}

std::vector<bool> outermost_locations(const profile& target) {
  std::vector<bool> found(target.locations.size());
  for (std::size_t node = 1; node < target.nodes.size(); ++node)
    if (target.nodes[node].parent == 0 && target.nodes[node].location < found.size())
      found[target.nodes[node].location] = true;
  return found;
}

enum class knowledge { nothing, name, line };

knowledge knowledge_of(const profile& target, const location& place) {
  auto best = knowledge::nothing;
  for (const auto index : place.symbols) {
    if (index >= target.frames.size()) continue;
    if (target.frames[index].file != none) return knowledge::line;
    if (target.frames[index].function != none) best = knowledge::name;
  }
  return best;
}

bool is_virtual(const std::string& path) {
  return path.empty() || path.starts_with('[') || path.starts_with("linux-vdso") || path.starts_with("linux-gate");
}

module_symbols judge(const symbols::resolver& content, const std::string& other_build_id) {
  if (content.has_debug_info()) return module_symbols::complete;
  if (content.has_symbol_table()) return module_symbols::functions_only;
  if (content.has_symbols()) return module_symbols::exports_only;
  if (content.has_file()) return module_symbols::nothing;
  return other_build_id.empty() ? module_symbols::missing : module_symbols::changed;
}

class symbolizer {
 public:
  symbolizer(profile& target, const symbolize_options& options)
      : target_(target), options_(options), is_outermost_(outermost_locations(target)), frames_(target) {}

  symbolize_result run() {
    symbolize_result result;
    result.locations = target_.locations.size();
    auto builds = group_by_build(target_);
    std::stable_sort(builds.begin(), builds.end(),
                     [](const build& a, const build& b) { return a.locations.size() > b.locations.size(); });
    std::size_t in_modules = 0;
    for (auto& each : builds) {
      const auto& summary = result.modules.emplace_back(symbolize_build(each));
      result.named += summary.named;
      result.with_lines += summary.with_lines;
      in_modules += summary.locations;
      report_progress(in_modules);
    }
    if (in_modules != result.locations) report_progress(result.locations);
    advise(builds, result.modules);
    target_.symbolized = true;
    return result;
  }

 private:
  symbolized_module symbolize_build(build& each) {
    const auto& module = target_.modules[each.module];
    symbolized_module summary{.module = each.module, .locations = each.locations.size(), .advice = {}};
    if (is_virtual(module.path)) {
      summary.symbols = module_symbols::virtual_module;
    } else {
      const symbols::cut_off_guard guard;
      auto files = symbols::find_module_files(module.path, module.build_id, options_.debug);
      each.other_build_id = files.other_build_id;
      const symbols::resolver content(std::move(files), options_.debug);
      summary.symbols = judge(content, each.other_build_id);
      const auto found = content.has_file() ? resolve(each, content) : found_symbols();
      const auto dead_ends = find_dead_ends(each, content);
      if (content.alternate_missing()) summary.advice = "parts of its debug information, moved by dwz, are missing";
      if (content.split_missing()) summary.advice = split_off;
      if (content.has_unreadable_debug_info()) summary.advice = unreadable;
      if (symbols::file_was_cut_off() || !content.is_as_it_was()) {
        summary.symbols = module_symbols::changed;
        summary.advice = "its file was written to while names were looked up: look again with --debug-path FOLDER";
      } else {
        take(found);
        for (const auto index : dead_ends) target_.locations[index].lacks_rule = true;
      }
    }
    for (const auto& [address, index] : each.locations) {
      const auto known = knowledge_of(target_, target_.locations[index]);
      summary.named += known != knowledge::nothing;
      summary.with_lines += known == knowledge::line;
    }
    return summary;
  }

  // By location. Kept apart until it is known that the files did not change meanwhile.
  using found_symbols = std::vector<std::pair<std::uint32_t, decltype(location::symbols)>>;

  found_symbols resolve(const build& each, const symbols::resolver& content) {
    std::vector<std::uint64_t> addresses;
    std::vector<std::size_t> first;  // of the locations that have the address
    for (std::size_t i = 0; i < each.locations.size(); ++i) {
      if (!addresses.empty() && addresses.back() == each.locations[i].first) continue;
      addresses.push_back(each.locations[i].first);
      first.push_back(i);
    }
    first.push_back(each.locations.size());
    found_symbols found;
    content.resolve(addresses, [&](std::size_t index, std::span<const symbols::resolved_frame> resolved) {
      location fresh;
      for (const auto& frame : resolved) fresh.symbols.push_back(frames_.frame(frame));
      for (auto i = first[index]; i < first[index + 1]; ++i)
        found.emplace_back(each.locations[i].second, fresh.symbols);
      const auto before = resolved_;
      resolved_ += first[index + 1] - first[index];
      if (before / progress_step != resolved_ / progress_step) report_progress(resolved_);
    });
    return found;
  }

  std::vector<std::uint32_t> find_dead_ends(const build& each, const symbols::resolver& content) const {
    std::vector<std::uint32_t> found;
    if (content.code() == nullptr) return found;
    const symbols::unwind_rules rules(*content.code());
    for (const auto& [address, index] : each.locations)
      if (is_outermost_[index] && !rules.cover(address) && !rules.begins_process(address)) found.push_back(index);
    return found;
  }

  void take(const found_symbols& found) {
    for (const auto& [index, symbols] : found) {
      location fresh;
      fresh.symbols = symbols;
      auto& place = target_.locations[index];
      if (knowledge_of(target_, fresh) >= knowledge_of(target_, place)) place.symbols = symbols;
    }
  }

  void report_progress(std::size_t done) {
    if (done < reported_) return;  // unknown addresses are counted at the end of their module only
    reported_ = done;
    if (options_.progress) options_.progress(done, target_.locations.size());
  }

  void advise(const std::vector<build>& builds, std::vector<symbolized_module>& modules) {
    std::vector<std::string> paths;
    paths.reserve(modules.size());
    for (const auto& each : modules) paths.push_back(target_.modules[each.module].path);
    const auto incomplete = [](const symbolized_module& each) {
      return each.symbols == module_symbols::functions_only || each.symbols == module_symbols::exports_only ||
             each.symbols == module_symbols::nothing;
    };
    std::map<build_key, std::string_view> advice_of;
    std::vector<std::string> packages(modules.size());
    if (std::any_of(modules.begin(), modules.end(), incomplete)) packages = symbols::owning_packages(paths);
    for (std::size_t i = 0; i < modules.size(); ++i) {
      const auto& one_load = target_.modules[modules[i].module];
      if (modules[i].advice.empty()) {
        modules[i].advice =
            symbols::advice_for(modules[i].symbols, packages[i], one_load.build_id, builds[i].other_build_id);
      }
      advice_of.emplace(key_of(one_load), modules[i].advice);
    }
    for (auto& load : target_.modules) {
      const auto advice = advice_of.find(key_of(load));
      if (advice != advice_of.end()) load.symbol_advice = advice->second;
    }
  }

  profile& target_;
  const symbolize_options& options_;
  const std::vector<bool> is_outermost_;  // somewhere, by location
  symbols::frame_interner frames_;
  std::size_t resolved_ = 0;
  std::size_t reported_ = 0;
};

}  // namespace

symbolize_result symbolize(profile& target, const symbolize_options& options) {
  return symbolizer(target, options).run();
}

}  // namespace heapledger

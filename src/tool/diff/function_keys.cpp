#include "tool/diff/function_keys.hpp"

#include <vector>

#include "tool/analyse/function_name.hpp"
#include "tool/diff/identity.hpp"

namespace heapledger::diff {
namespace {

constexpr std::size_t longest_name = 4096;  // to scan longer ones would let a hostile profile take minutes

}  // namespace

function_keys::function_keys(const profile& before, const profile& after) {
  add_all(before);
  add_all(after);
  for (const auto& [plain, known] : by_plain_name_) {
    if (known.with_parameters.empty() || known.without.empty()) continue;
    const function_key key{plain, *(known.with_parameters.size() == 1 ? known.with_parameters : known.without).begin()};
    for (const auto* names : {&known.with_parameters, &known.without})
      for (const std::string_view name : *names) other_names_.emplace(name, key);
  }
}

void function_keys::add_all(const profile& p) {
  std::vector<bool> seen(p.strings.size(), false);
  for (const frame_info& frame : p.frames) {
    if (frame.function == none || seen[frame.function]) continue;
    seen[frame.function] = true;
    const std::string_view name = same_function(p.strings[frame.function]);
    if (name.size() > longest_name) continue;
    if (const std::string same = same_generated_function(name); !same.empty()) {
      other_names_.emplace(name, function_key{*generated_.insert(same).first, name});
      continue;
    }
    spellings& known = by_plain_name_[analyse::plain_name(name)];
    (analyse::has_parameters(name) ? known.with_parameters : known.without).insert(name);
  }
}

function_key function_keys::of(std::string_view function) const {
  const std::string_view name = same_function(function);
  const auto found = other_names_.find(name);
  return found == other_names_.end() ? function_key{name, function} : found->second;
}

}  // namespace heapledger::diff

#include "tool/diff/function_keys.hpp"

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
    if (!known.with_parameters || !known.without) continue;
    for (const std::string_view name : known.names) other_names_.emplace(name, plain);
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
      other_names_.emplace(name, *generated_.insert(same).first);
      continue;
    }
    spellings& known = by_plain_name_[analyse::plain_name(name)];
    known.names.push_back(name);
    (analyse::has_parameters(name) ? known.with_parameters : known.without) = true;
  }
}

std::string_view function_keys::key_of(std::string_view function) const {
  const std::string_view name = same_function(function);
  const auto found = other_names_.find(name);
  return found == other_names_.end() ? name : found->second;
}

}  // namespace heapledger::diff

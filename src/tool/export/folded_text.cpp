#include "tool/export/folded_text.hpp"

#include <algorithm>

namespace heapledger::exports {
namespace {

void append_name(std::string& line, std::string name) {
  std::replace(name.begin(), name.end(), ';', ':');
  if (!line.empty()) line += ';';
  line += name;
}

}  // namespace

const std::string& folded_text::of_location(std::uint32_t index) {
  std::string& text = by_location_[index];
  if (!text.empty()) return text;
  const auto& symbols = profile_.locations[index].symbols;
  if (symbols.empty()) append_name(text, names_.function({index, none, false}));
  for (std::size_t i = symbols.size(); i-- > 0;) {
    const bool inlined = i + 1 < symbols.size();
    append_name(text, names_.function({index, symbols[i], inlined}) + (inlined ? "_[i]" : ""));
  }
  return text;
}

const std::string& folded_text::stack(const stack_entry& stack) {
  path_.clear();
  for (std::uint32_t node = stack.node; node != 0; node = profile_.nodes[node].parent) {
    if (profile_.nodes[node].location != none) path_.push_back(profile_.nodes[node].location);
  }
  line_.clear();
  for (const auto& scope : stack.scope) append_name(line_, scope_frame(scope));
  for (auto location = path_.rbegin(); location != path_.rend(); ++location) {
    if (!line_.empty()) line_ += ';';
    line_ += of_location(*location);
  }
  if (path_.empty()) append_name(line_, std::string(no_stack_name));
  return line_;
}

}  // namespace heapledger::exports

#include "tool/analyse/mismatches.hpp"

#include <algorithm>
#include <unordered_map>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/machinery.hpp"

namespace heapledger::analyse {
namespace {

// The module whose own operator new called malloc; none: the code itself called us.
std::uint32_t own_operator_new(const profile& p, std::uint32_t node) {
  std::uint32_t module = none;
  walk_stack(p, node, [&](const frame_ref& frame) {
    if (frame.inlined) return true;
    const std::uint32_t at = module_index(p, frame);
    if (function_name(p, frame).starts_with("operator new") && at < p.modules.size() &&
        !is_system_runtime(p.modules[at].path))
      module = at;
    return false;
  });
  return module;
}

}  // namespace

std::vector<judged_error> judged_errors(const profile& p) {
  const auto is_mismatch = [](const error_entry& error) { return error.kind == "mismatch"; };
  std::vector<judged_error> judged;
  if (std::none_of(p.errors.begin(), p.errors.end(), is_mismatch)) {
    for (const auto& error : p.errors) judged.push_back({error});
    return judged;
  }
  std::uint32_t doubt = none;
  std::unordered_map<std::uint32_t, std::uint32_t> own_by_stack;  // stack id to module
  for (const auto& stack : p.stacks) {
    const std::uint32_t module = own_operator_new(p, stack.node);
    if (module == none) continue;
    own_by_stack[stack.id] = module;
    if (doubt == none) doubt = module;
  }
  for (const auto& error : p.errors) {
    if (!is_mismatch(error))
      judged.push_back({error});
    else if (!own_by_stack.contains(error.stack))
      judged.push_back({error, doubt});
  }
  return judged;
}

}  // namespace heapledger::analyse

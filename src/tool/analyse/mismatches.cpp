#include "tool/analyse/mismatches.hpp"

#include <unordered_set>

#include "tool/analyse/frames.hpp"
#include "tool/analyse/machinery_names.hpp"

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
  std::vector<judged_error> judged;
  if (p.errors.empty()) return judged;
  std::uint32_t first_module = none;
  std::unordered_set<std::uint32_t> by_own_new;  // ids of stacks
  for (const auto& stack : p.stacks) {
    const std::uint32_t module = own_operator_new(p, stack.node);
    if (module == none) continue;
    by_own_new.insert(stack.id);
    if (first_module == none) first_module = module;
  }
  for (const auto& error : p.errors) {
    const bool is_mismatch = error.kind == "mismatch";
    if (!is_mismatch || !by_own_new.contains(error.stack)) judged.push_back({error, is_mismatch ? first_module : none});
  }
  return judged;
}

}  // namespace heapledger::analyse

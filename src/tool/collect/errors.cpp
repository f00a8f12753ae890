#include "tool/collect/errors.hpp"

#include <string>
#include <unordered_map>

namespace heapledger::collect {
namespace {

std::string name_of(wire::error_kind kind) {
  switch (kind) {
    case wire::error_kind::double_free:
      return "double-free";
    case wire::error_kind::mismatch:
      return "mismatch";
    case wire::error_kind::overflow:
      return "overflow";
    case wire::error_kind::none:
      break;
  }
  return {};
}

bool is_possible(const segment_copy& segment, const wire::error& error) {
  return !name_of(error.kind).empty() && error.count != 0 && error.account < segment.account_keys.size();
}

struct family_names {
  const char *allocated_by, *freed_by;
};

family_names names_of(wire::call_family family) {
  switch (family) {
    case wire::call_family::malloc:
      return {"malloc", "free"};
    case wire::call_family::scalar:
      return {"new", "delete"};
    case wire::call_family::array:
      return {"new[]", "delete[]"};
    case wire::call_family::unknown:
    case wire::call_family::count:
      break;
  }
  return {"", ""};
}

}  // namespace

std::vector<std::uint32_t> accounts_of_errors(const segment_copy& segment) {
  std::unordered_map<std::uint32_t, std::uint32_t> account_of;  // by node; filled when it is needed
  const auto now_of = [&](std::uint32_t node) {
    if (account_of.empty())
      for (std::uint32_t i = 0; i < segment.account_keys.size(); ++i)
        account_of.try_emplace(segment.account_keys[i].node, i);
    const auto found = account_of.find(node);
    return found == account_of.end() ? 0 : found->second;
  };
  std::vector<std::uint32_t> accounts;
  for (const auto& error : segment.errors) {
    if (!is_possible(segment, error))
      accounts.push_back(none);
    else if (segment.account_keys[error.account].node == error.allocated_node)
      accounts.push_back(error.account);
    else
      accounts.push_back(now_of(error.allocated_node));
  }
  return accounts;
}

void add_errors(const segment_copy& segment, std::span<const std::uint32_t> accounts,
                std::span<const std::uint32_t> stack_ids, std::span<const std::uint32_t> nodes, profile& to) {
  for (std::size_t i = 0; i < segment.errors.size(); ++i) {
    if (accounts[i] == none) continue;
    const auto& error = segment.errors[i];
    to.errors.push_back({.kind = name_of(error.kind),
                         .stack = stack_ids[accounts[i]],
                         .count = error.count,
                         .freed_node = nodes[i],
                         .allocated_by = names_of(error.allocated_by).allocated_by,
                         .freed_by = names_of(error.freed_by).freed_by});
  }
}

}  // namespace heapledger::collect

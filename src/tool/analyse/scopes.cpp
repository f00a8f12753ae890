#include "tool/analyse/scopes.hpp"

#include <map>
#include <utility>

namespace heapledger::analyse {

std::vector<scope_row> scope_rows(const profile& p) {
  // Ordered by path: a parent is a prefix of its children, and so stands before them.
  std::map<std::vector<std::string>, scope_row> rows;
  const auto row_of = [&rows](const std::vector<std::string>& path) -> scope_row& { return rows[path]; };
  for (const auto& scope : p.scopes) row_of(scope.path).info = &scope;
  for (const auto& stack : p.stacks) row_of(stack.scope).alone += stack.count;
  if (rows.empty() || (rows.size() == 1 && rows.begin()->first.empty())) return {};
  row_of({});
  // Parents that nothing else told of.
  for (auto at = rows.begin(); at != rows.end(); ++at)
    for (std::size_t length = 1; length < at->first.size(); ++length)
      row_of({at->first.begin(), at->first.begin() + static_cast<std::ptrdiff_t>(length)});
  for (const auto& [path, row] : rows) {
    for (std::size_t length = 1; length <= path.size(); ++length)
      rows.at({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length)}).all += row.alone;
    if (path.empty()) rows.at({}).all += row.alone;
  }
  std::vector<scope_row> result;
  for (auto& [path, row] : rows) {
    row.path = path;
    result.push_back(std::move(row));
  }
  return result;
}

}  // namespace heapledger::analyse

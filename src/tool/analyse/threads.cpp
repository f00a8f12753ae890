#include "tool/analyse/threads.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

namespace heapledger::analyse {

std::vector<thread_row> thread_rows(std::span<const thread_info> threads) {
  std::vector<thread_row> rows;
  std::unordered_map<std::string_view, std::size_t> index;
  for (const thread_info& thread : threads) {
    const auto [found, added] = index.try_emplace(thread.name, rows.size());
    if (added) rows.push_back({thread.name, thread.tid, 0, 0, 0, 0, 0});
    thread_row& row = rows[found->second];
    ++row.threads;
    row.allocations += thread.allocations;
    row.allocated_bytes += thread.allocated_bytes;
    row.frees += thread.frees;
    row.freed_bytes += thread.freed_bytes;
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const thread_row& a, const thread_row& b) { return a.allocations > b.allocations; });
  return rows;
}

}  // namespace heapledger::analyse

#include "tool/collect/thread_shares.hpp"

#include <algorithm>
#include <utility>

#include "tool/collect/books.hpp"

namespace heapledger::collect {
namespace {

struct cell_range {
  std::uint64_t first;
  std::uint64_t end;
  std::uint32_t thread;
};

// Whose the cells are, by index; none: several threads'. What two writers call their own is none's. Ranges that overlap
// are damage, and cost no more than others: each cell is given to somebody once, and taken away once.
void assign(std::vector<cell_range> ranges, std::vector<std::uint32_t>& cells) {
  std::sort(ranges.begin(), ranges.end(), [](const cell_range& a, const cell_range& b) { return a.first < b.first; });
  std::uint64_t given = 0, taken = 0;  // up to here
  for (const auto& [first, end, thread] : ranges) {
    const auto twice = std::min(end, given);
    for (auto i = std::max(first, given); i < end; ++i) cells[i] = thread;
    for (auto i = std::max(first, taken); i < twice; ++i) cells[i] = none;
    given = std::max(given, end);
    taken = std::max(taken, twice);
  }
}

// By account and by cell; none: several threads'.
class cell_owners {
 public:
  cell_owners(const segment_copy& segment, const std::vector<std::uint32_t>& thread_of)
      : keys_(segment.account_keys), of_cell_(segment.cells.size(), none) {
    std::vector<cell_range> ranges;
    for (const auto& book : segment.writer_books) {
      const bool is_known = book.thread != wire::several_threads && book.thread != 0 && book.thread <= thread_of.size();
      of_writer_.push_back(is_known ? thread_of[book.thread - 1] : none);
      const std::uint64_t first = book.own_cells & UINT32_MAX;
      const std::uint64_t end = std::min<std::uint64_t>(first + (book.own_cells >> 32), of_cell_.size());
      if (first < end) ranges.push_back({first, end, of_writer_.back()});
    }
    assign(std::move(ranges), of_cell_);
  }

  std::uint32_t of_account(std::uint32_t account) const {
    const std::uint32_t owner = keys_[account].owner;
    const std::uint32_t writer = owner & wire::owner_writer;
    const bool is_known = (owner & wire::owner_changed) == 0 && writer != 0 && writer <= of_writer_.size();
    return is_known ? of_writer_[writer - 1] : none;
  }
  std::uint32_t of_cell(std::size_t cell) const { return of_cell_[cell]; }

 private:
  const std::vector<wire::account_key>& keys_;
  std::vector<std::uint32_t> of_writer_;
  std::vector<std::uint32_t> of_cell_;
};

// One row for each pair of stack and thread.
void merge(std::vector<thread_share>& shares) {
  std::sort(shares.begin(), shares.end(), [](const thread_share& a, const thread_share& b) {
    return a.stack != b.stack ? a.stack < b.stack : a.thread < b.thread;
  });
  std::size_t kept = 0;
  for (std::size_t i = 1; i < shares.size(); ++i) {
    auto& last = shares[kept];
    const auto& next = shares[i];
    if (last.stack == next.stack && last.thread == next.thread) {
      last.allocations += next.allocations;
      last.allocated_bytes += next.allocated_bytes;
      last.temporaries += next.temporaries;
    } else {
      shares[++kept] = next;
    }
  }
  if (!shares.empty()) shares.resize(kept + 1);
}

// A damaged segment may say more of a thread than of all.
bool is_possible(const thread_share* first, const thread_share* last, const counters& all) {
  counters left = all;
  for (; first != last; ++first) {
    if (first->allocations > left.allocations || first->allocated_bytes > left.allocated_bytes ||
        first->temporaries > left.temporaries)
      return false;
    left.allocations -= first->allocations;
    left.allocated_bytes -= first->allocated_bytes;
    left.temporaries -= first->temporaries;
  }
  return true;
}

}  // namespace

void add_thread_shares(const segment_copy& segment, const std::vector<std::uint32_t>& stack_of,
                       const std::vector<std::uint32_t>& thread_of, profile& to) {
  const cell_owners owners(segment, thread_of);
  std::vector<thread_share> shares;
  const auto add = [&](const wire::cell& cell, std::uint32_t account, std::uint32_t thread) {
    if (cell.allocations == 0 || account >= stack_of.size() || stack_of[account] == none) return;
    shares.push_back({stack_of[account], thread, cell.allocations, cell.allocated_bytes, cell.temporaries});
  };
  for (std::uint32_t i = 0; i < segment.accounts.size(); ++i) add(segment.accounts[i], i, owners.of_account(i));
  const auto cells = cells_after_folds(segment);
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (cells[i].id != 0) add(cells[i], cells[i].id - 1, owners.of_cell(i));
  merge(shares);
  for (const auto *first = shares.data(), *const end = first + shares.size(); first != end;) {
    const auto* last = std::find_if(first, end, [&](const thread_share& each) { return each.stack != first->stack; });
    auto& stack = to.stacks[first->stack];
    if (last == first + 1) {
      if (first->allocations == stack.count.allocations) stack.thread = first->thread;
    } else if (is_possible(first, last, stack.count)) {
      std::copy_if(first, last, std::back_inserter(to.thread_shares),
                   [](const auto& each) { return each.thread != none; });
    }
    first = last;
  }
}

}  // namespace heapledger::collect

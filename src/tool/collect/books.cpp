#include "tool/collect/books.hpp"

#include <array>
#include <utility>

namespace heapledger::collect {
namespace {

// Far beyond what a process reaches, and below what the reader of a profile takes.
constexpr std::uint64_t sum_limit = std::uint64_t{1} << 58;

std::int64_t net_bytes(const wire::cell& cell) {
  return static_cast<std::int64_t>(cell.allocated_bytes - cell.freed_bytes);
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

// Calls f(cell, account) for all that is booked.
template <class F>
void each_cell(const segment_copy& segment, F f) {
  for (std::size_t account = 0; account < segment.accounts.size(); ++account) f(segment.accounts[account], account);
  for (const auto& cell : cells_after_folds(segment))
    if (cell.id != 0) f(cell, cell.id - 1);
}

class adder {
 public:
  explicit adder(const segment_copy& segment) : segment_(segment) { sums_.accounts.resize(segment.accounts.size()); }

  void add(const wire::cell& cell, std::size_t account) {
    const std::int64_t peak = cell.peak_epoch == segment_.header.peak_epoch ? cell.peak_bytes : net_bytes(cell);
    if (account >= sums_.accounts.size() ||
        !takes({cell.allocations, cell.allocated_bytes, cell.frees, cell.freed_bytes, cell.temporaries,
                cell.reallocations, magnitude(net_bytes(cell)), magnitude(peak)})) {
      ++sums_.damaged_cells;
      return;
    }
    sums_.accounts[account] += counters{.allocations = cell.allocations,
                                        .allocated_bytes = cell.allocated_bytes,
                                        .frees = cell.frees,
                                        .freed_bytes = cell.freed_bytes,
                                        .temporaries = cell.temporaries,
                                        .reallocations = cell.reallocations,
                                        .peak_bytes = peak};
    live_bytes_ += net_bytes(cell);
  }

  books finish() {
    if (live_bytes_ > segment_.header.peak_bytes) {
      sums_.peak_is_now = true;
      for (auto& account : sums_.accounts) account.peak_bytes = account.live_bytes();
    }
    return std::move(sums_);
  }

 private:
  using numbers = std::array<std::uint64_t, 8>;

  bool takes(const numbers& cell) {
    for (std::size_t i = 0; i < cell.size(); ++i)
      if (cell[i] > sum_limit - taken_[i]) return false;
    for (std::size_t i = 0; i < cell.size(); ++i) taken_[i] += cell[i];
    return true;
  }

  const segment_copy& segment_;
  books sums_;
  std::int64_t live_bytes_ = 0;
  numbers taken_{};
};

}  // namespace

// A fold that was cut short: its journal holds what the destination was about to become.
std::vector<wire::cell> cells_after_folds(const segment_copy& segment) {
  auto cells = segment.cells;
  for (const auto& fold : segment.header.folds) {
    if (fold.state != wire::fold_state::valid) continue;
    if (fold.source >= cells.size() || fold.destination >= cells.size() || fold.source == fold.destination) continue;
    cells[fold.source].id = 0;
    cells[fold.destination] = fold.after;
  }
  return cells;
}

books add_up(const segment_copy& segment) {
  adder sums(segment);
  each_cell(segment, [&](const wire::cell& cell, std::size_t account) { sums.add(cell, account); });
  return sums.finish();
}

std::vector<std::int64_t> live_by_account(const segment_copy& segment) {
  std::vector<std::int64_t> live(segment.accounts.size());
  std::uint64_t left = sum_limit;
  each_cell(segment, [&](const wire::cell& cell, std::size_t account) {
    const auto bytes = net_bytes(cell);
    if (account >= live.size() || magnitude(bytes) > left) return;
    left -= magnitude(bytes);
    live[account] += bytes;
  });
  return live;
}

}  // namespace heapledger::collect

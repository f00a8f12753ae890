// A timeline that stays small however long the program runs: when it is full, neighbours are merged, and of each
// group the points with the least and the most live bytes and with the most resident memory are kept.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "tool/profile/profile.hpp"

namespace heapledger::collect {

class timeline {
 public:
  static constexpr std::size_t point_limit = 2000;

  void add(const timeline_point& point);  // times never go back
  std::vector<timeline_point> points() const;
  std::optional<timeline_point> last() const { return last_; }

 private:
  struct group {
    timeline_point least_live;
    timeline_point most_live;
    timeline_point most_resident;
    std::size_t count = 0;
    void add(const timeline_point& point);
    void add(const group& other);
  };

  void merge_neighbours();

  std::vector<group> groups_;  // each of group_size_ points but the last
  std::size_t group_size_ = 1;
  std::optional<timeline_point> first_;
  std::optional<timeline_point> last_;
};

}  // namespace heapledger::collect

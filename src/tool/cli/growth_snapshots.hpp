// `run --snapshot-growth`: snapshots that nobody need be there for. Each time a process holds so many percent more than
// at the last one, so that a few dozen tell of any growth, however long it takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tool/collect/process_watch.hpp"

namespace heapledger::cli {

class growth_snapshots {
 public:
  explicit growth_snapshots(std::uint32_t percent) : percent_(percent) {}  // 0: none

  void look(const collect::process_watch& image);

 private:
  std::uint32_t percent_;
  std::map<std::string, std::int64_t> due_bytes_;  // by segment
};

}  // namespace heapledger::cli

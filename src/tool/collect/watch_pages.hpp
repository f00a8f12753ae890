// Which slots of the leak watch were touched since they were armed: whether any of their pages is in the process's page
// table. Asked from outside, which touches nothing. By PAGEMAP_SCAN (Linux 6.7), where there is none by reading
// pagemap.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tool/collect/unique_fd.hpp"

namespace heapledger::collect {

enum class pagemap_way { best, read_only };

class watch_pages {
 public:
  explicit watch_pages(pid_t pid, pagemap_way way = pagemap_way::best);

  bool is_open() const { return static_cast<bool>(fd_); }
  const std::string& why_not() const { return why_not_; }  // errno's words, where it is not open
  bool scans() const { return scans_; }                    // with PAGEMAP_SCAN

  // Whether the process is still there, and has not become another program by exec.
  bool can_be_asked() const;

  // One flag a slot, for `count` slots from address `base`: some page of it is present. Empty where the process is gone
  // or does not let itself be asked.
  std::vector<bool> present(std::uint64_t base, std::uint32_t count);

 private:
  bool scan(std::uint64_t base, std::uint32_t count, std::vector<bool>& to);
  bool read(std::uint64_t base, std::uint32_t count, std::vector<bool>& to);

  unique_fd fd_;
  std::string why_not_;
  bool scans_ = true;
};

}  // namespace heapledger::collect

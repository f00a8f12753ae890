// The rows of the live view as text, for the screen and for a pipe alike. Everything that comes from the program has
// been made harmless for a terminal.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tool/live/sample.hpp"
#include "tool/live/view.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::live {

// A line of headings, and lines of rows, of at most `width` columns. Columns that do not fit are left out, never the
// one that the order goes by; of a program that has ended with one sample, those of rates, which nobody will know.
class table {
 public:
  table(const view& of, order by, const sample& from, std::size_t width);

  std::string heading() const;
  std::string line(const row& of, const std::string& where) const;
  std::size_t where_width() const { return where_width_; }

 private:
  std::vector<const column*> columns_;
  const char* title_;
  order by_;
  bool has_rates_;
  std::size_t where_width_;
};

// ", attached 0.53 s after its start"; empty where it was started under heapledger.
std::string attached_text(const process_info& process);

// "parse < read_request < main": the frames that matter, from the allocation outward, as many as fit; the scope first.
// "parse:12 < read_request" where rows would look the same: the line in which they differ. "parse via
// std::string::append" where that is one: what it called to allocate.
std::vector<std::string> where_texts(const profile& p, std::size_t width);
// The same of rows of any view: their names where they are no stacks.
std::vector<std::string> where_texts(const sample& from, subject what, std::span<const std::uint32_t> rows,
                                     const profile& described, std::size_t width);

// Each frame that matters with its file and line.
std::vector<std::string> frame_lines(const profile& p, std::size_t stack, std::size_t width);

// "+1.2 MiB", "-3 B", "0 B".
std::string growth_text(double bytes_per_second);
std::string churn_text(double per_second);

// The newest values as columns, scaled from the lowest to the highest.
std::string sparkline(const std::vector<std::int64_t>& values, std::size_t width, bool unicode);

}  // namespace heapledger::live

// A sample as text for a pipe, or as one line of JSON.
#pragma once

#include <cstddef>
#include <string>

#include "tool/live/sample.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::live {

struct plain_options {
  subject what = subject::stack;
  order by = order::live;
  std::size_t width = 100;
};

// `rows`: indices into rows_of(from, what). `described`: the stacks of these rows, where they are stacks.
std::string as_text(const sample& from, const process_info& process, const std::vector<std::uint32_t>& rows,
                    const profile& described, const plain_options& options);
std::string as_json(const sample& from, const process_info& process, const std::vector<std::uint32_t>& rows,
                    const profile& described, const plain_options& options);

}  // namespace heapledger::live

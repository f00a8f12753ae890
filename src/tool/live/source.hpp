// Where samples come from: the segment of a running program, or a profile.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "tool/collect/programs.hpp"
#include "tool/live/names.hpp"
#include "tool/live/sample.hpp"
#include "tool/profile/profile.hpp"

namespace heapledger::live {

class source {
 public:
  virtual ~source() = default;

  virtual const process_info& process() const = 0;

  // Throws input_error where the segment is damaged. After the program's end there is one more, the last.
  virtual const sample& take() = 0;

  // These rows of the last sample, of a view whose rows are stacks, as a profile of their own, in this order, as far as
  // their names are known; what is not is being looked up meanwhile. Good until the next call.
  virtual const profile& describe(subject what, std::span<const std::uint32_t> rows) = 0;
};

std::unique_ptr<source> watch_program(const collect::running_program& program, symbol_names& names);
std::unique_ptr<source> show_profile(profile ended);

}  // namespace heapledger::live

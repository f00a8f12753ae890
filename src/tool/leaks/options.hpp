// What a hunt may be told. Where a time is not given, each stack's own lifetimes and gaps between accesses set it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "tool/leaks/budget.hpp"

namespace heapledger::leaks {

struct hunt_options {
  std::optional<double> suspicious_s;  // a block older than this is suspicious
  std::optional<double> access_s;      // armed so long without an access: a leak
  std::optional<double> rest_s;        // from an access to the next arming
  std::uint32_t samples = 5;           // freed, of a stack that grows only by them: it is acquitted, for a time
  std::uint32_t per_stack = 30;        // watched at a time
  std::uint32_t in_all = 50'000;       // watched at a time
  double report_s = 0;                 // between reports; 0: at the end only
  budget spend;

  // What an unknown stack begins with where nothing is given; its own history replaces them.
  static constexpr double first_suspicious_s = 5;
  static constexpr double first_access_s = 20;
  static constexpr double first_rest_s = 2;
};

}  // namespace heapledger::leaks

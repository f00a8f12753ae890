#pragma once

#include "probe/base/address_space.hpp"
#include "probe/hook/child_program.hpp"

namespace heapledger::probe {

void start_limits();  // looks up what is behind the hooks in limits.cpp

// What is to be executed finds the limits as the program has set them.
class execution_limits {
 public:
  explicit execution_limits(const child_file& file) : limits_(has_limits() && may_execute(file)) {}

 private:
  static bool may_execute(const child_file& file);
  limits_for_execution limits_;
};

}  // namespace heapledger::probe

// What stands in heapledger's way on this machine, one finding a line. Looks only; changes nothing.
#pragma once

#include <string>
#include <vector>

namespace heapledger::cli {

enum class health { good, note, problem };  // problem: profiling will fail, or miss something

struct diagnosis {
  health state = health::good;
  std::string subject;
  std::string words;  // what is, and where it is not good, what to do
};

std::vector<diagnosis> examine_machine();
std::vector<diagnosis> examine_program(const std::string& program);

}  // namespace heapledger::cli

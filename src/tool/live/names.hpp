// Functions and lines for addresses, looked up aside: a screen that waits for debug information to be read would
// freeze. Each address is looked up once.
#pragma once

#include <sys/types.h>

#include <memory>

#include "tool/profile/profile.hpp"

namespace heapledger::live {

class symbol_names {
 public:
  symbol_names();
  ~symbol_names();  // does not wait for a lookup under way
  symbol_names(const symbol_names&) = delete;
  symbol_names& operator=(const symbol_names&) = delete;

  // Whose modules they are, if it runs: its files are found although they were replaced meanwhile.
  void of_process(pid_t pid);

  // Gives the locations their symbols, as far as they are known, and asks for the others.
  void apply(profile& to);

  // Until everything that was asked for is known.
  void wait() const;

  bool is_busy() const;

 private:
  struct state;
  std::shared_ptr<state> state_;
};

}  // namespace heapledger::live

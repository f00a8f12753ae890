// What the tests of the pool share: the threading policies as a list of types, and a handler that keeps what it is
// told.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "heapledger/pool.hpp"
#include "heapledger/pool/analyzers.hpp"

namespace heapledger::tests {

// Where the pool's own marks are under test: no tool stands in for them.
inline constexpr pool_options marks{.tool = memory_tool::none};

using every_threading = ::testing::Types<threading::single, threading::shared, threading::thread_cached>;

struct threading_names {
  template <class T>
  static std::string GetName(int) {
    if constexpr (std::is_same_v<T, threading::single>) return "single";
    if constexpr (std::is_same_v<T, threading::shared>) return "shared";
    return "thread_cached";
  }
};

// Catches violations while it lives, instead of the handler that aborts.
class caught {
 public:
  caught() : previous_(set_violation_handler(&keep)) { list().clear(); }
  ~caught() { set_violation_handler(previous_); }
  caught(const caught&) = delete;
  caught& operator=(const caught&) = delete;

  const std::vector<violation>& all() const { return list(); }
  std::vector<violation_kind> kinds() const {
    std::vector<violation_kind> result;
    for (const violation& one : list()) result.push_back(one.kind);
    return result;
  }
  // What was caught since the last call.
  static std::vector<violation_kind> take() {
    std::vector<violation_kind> result;
    for (const violation& one : list()) result.push_back(one.kind);
    list().clear();
    return result;
  }

 private:
  static std::vector<violation>& list() {
    static std::vector<violation> kept;
    return kept;
  }
  static void keep(const violation& found) { list().push_back(found); }
  violation_handler previous_;
};

}  // namespace heapledger::tests

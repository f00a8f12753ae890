// Runs a few threads of a scenario in every order in which their steps can happen, with a bounded number of switches
// that nothing forced: one run for each order, found by depth-first search over the choices. The threads are fibers of
// one real thread, so a run is the same each time its choices are.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

namespace model {

struct exploration {
  std::uint64_t runs = 0;
  std::string failure;  // the first one, and the choices that led to it
};

struct scenario {
  std::function<void()> begin;                 // before each run, not explored
  std::vector<std::function<void()>> threads;  // their steps are
  std::function<void()> end;                   // after each run: checks what is left
};

exploration explore(const scenario& of, unsigned switches);

// For threads of a scenario and its end: the run fails, and the search ends.
void expect(bool good, const char* what);
#define MODEL_EXPECT(condition) ::model::expect((condition), #condition)

// Whose stores may linger, and which of the thread's own stores do not push them out.
void watch(std::size_t thread, std::initializer_list<const std::uint32_t*> lingers, const std::uint32_t* does_not_push);
void flush_own();  // before a plain store that others look at

}  // namespace model

// A segment and books as at the begin of a process, for tests of the probe's own sources without its hooks.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <stdexcept>
#include <string>

#include "probe/account/account_index.hpp"
#include "probe/account/cells.hpp"
#include "probe/account/registry.hpp"
#include "probe/hook/process.hpp"
#include "probe/publish/stack_tree.hpp"
#include "probe/scope/usage.hpp"
#include "probe/unwind/rule_cache.hpp"

namespace heapledger::probe {

inline void begin_probe_world(const std::string& name) {
  const std::string path = ::testing::TempDir() + name + "." + std::to_string(getpid());
  unlink(path.c_str());
  const bool made = create_segment({.path = path.c_str()}) && rules.create() && tree.create() && accounts.create();
  unlink(path.c_str());
  if (!made) throw std::runtime_error("no segment");
  process.generation = books::first_generation + 1;
  reset_cells();
  reset_registry({0, wire::stacks_mode::off});
  reset_scopes();
}

}  // namespace heapledger::probe

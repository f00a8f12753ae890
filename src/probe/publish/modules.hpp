// Which file an address belongs to, as modules come (seen when one of their addresses first shows on a stack) and go
// (noticed when the loader frees memory, see hook/malloc.cpp). Never takes the loader's lock.
#pragma once

#include "probe/base/attributes.hpp"

#include <cstdint>

namespace heapledger::probe {

class module_table {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The module that holds `address`, published if it is new.
  std::uint32_t find(std::uint64_t address);

  // Marks what is no longer loaded, and calls `gone` for each; true if there was any.
  bool sweep(void (*gone)(std::uint64_t start, std::uint64_t end));

  void reset() { lock_ = 0; }

 private:
  std::uint32_t known(std::uint64_t address) const;
  std::uint32_t publish(std::uint64_t address);
  static bool still_loaded(std::uint32_t module);

  std::uint32_t lock_ = 0;
};

HL_INTERNAL extern module_table modules;

}  // namespace heapledger::probe

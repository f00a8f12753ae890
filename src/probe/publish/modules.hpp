// Which file an address belongs to, as modules come (seen when one of their addresses first shows on a stack) and go
// (noticed when the loader frees memory, see hook/malloc.cpp). Never takes the loader's lock.
#pragma once

#include <cstdint>

#include "probe/base/attributes.hpp"
#include "probe/publish/segment.hpp"

namespace heapledger::probe {

class module_table {
 public:
  static constexpr std::uint32_t none = UINT32_MAX;

  // The module that holds `address`, published if it is new.
  std::uint32_t find(std::uint64_t address);

  // Marks what is no longer loaded, and calls `gone` for each. The first of them, which is the oldest; or nullptr.
  const wire::module* sweep(void (*gone)(const wire::module&));
  // The module that holds `address`, where it is one that was gone: the same path, build-id and place.
  // nullptr: it is not.
  const wire::module* revive(std::uint64_t address);
  bool any_gone() const { return __atomic_load_n(&any_gone_, __ATOMIC_RELAXED); }  // ever
  static std::uint32_t index_of(const wire::module& module) {
    return static_cast<std::uint32_t>(&module - segment.modules.data);
  }

  void reset() {
    lock_ = 0;
    any_gone_ = false;
  }

 private:
  std::uint32_t known(std::uint64_t address) const;
  std::uint32_t publish(std::uint64_t address);
  static bool still_loaded(std::uint32_t module);

  std::uint32_t lock_ = 0;
  bool any_gone_ = false;
};

HL_INTERNAL extern module_table modules;

}  // namespace heapledger::probe

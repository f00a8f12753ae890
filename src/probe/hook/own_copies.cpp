#include "probe/hook/own_copies.hpp"

#include <dlfcn.h>

#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"

namespace heapledger::probe {
namespace {

constinit text_copiers behind = {};

bool in_one_object(const void* a, const void* b) {
  dl_find_object first, second;
  return _dl_find_object(const_cast<void*>(a), &first) == 0 && _dl_find_object(const_cast<void*>(b), &second) == 0 &&
         first.dlfo_map_start == second.dlfo_map_start;
}

}  // namespace

void look_up_copiers() {
  text_copiers found = {};
  look_up_next(found.strdup, "strdup");
  look_up_next(found.strndup, "strndup");
  const void* const allocator = next_definition("malloc");
  const void* const copier = reinterpret_cast<const void*>(found.strdup);
  found.of_allocator = in_one_object(copier, allocator) && !is_of_libc(allocator);
  behind = found;
}

const text_copiers& copiers_behind() {
  if (HL_UNLIKELY(behind.strdup == nullptr)) look_up_copiers();
  return behind;
}

}  // namespace heapledger::probe

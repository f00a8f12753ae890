#include "probe/hook/own_copies.hpp"

#include "probe/base/attributes.hpp"
#include "probe/hook/next.hpp"

namespace heapledger::probe {
namespace {

constinit text_copiers behind = {};

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

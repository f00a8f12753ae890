#include "probe/hook/program_calls.hpp"

#include <cstdint>

#include "probe/hook/late.hpp"
#include "probe/loader/image.hpp"
#include "probe/loader/scope.hpp"

namespace heapledger::probe {
namespace {

enum class answer : std::uint32_t { unknown, no, yes };
constinit answer decided = answer::unknown;

// The first definition is in what the program was started with, which is never unloaded: the walk goes no further. In a
// namespace of its own the probe has a list that is not ours to walk.
bool means_ours(const char* name) {
  const link_map* const own = own_map();
  return own == nullptr || defined_from(program_map(), name) == image(*own).definition(name);
}

}  // namespace

bool program_calls_us() {
  if (is_late()) return true;  // or whoever attached was refused
  answer known = __atomic_load_n(&decided, __ATOMIC_RELAXED);
  if (known == answer::unknown) {
    known = means_ours("malloc") && means_ours("free") ? answer::yes : answer::no;
    __atomic_store_n(&decided, known, __ATOMIC_RELAXED);
  }
  return known == answer::yes;
}

}  // namespace heapledger::probe

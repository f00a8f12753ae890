#include "probe/hook/operators.hpp"

#include <dlfcn.h>

#include <cstring>

#include "probe/hook/late.hpp"
#include "probe/hook/next.hpp"
#include "probe/loader/image.hpp"
#include "probe/loader/scope.hpp"

namespace heapledger::probe {
namespace {

// The forms that every other form falls back to, by the standard. Who replaces one of them expects the others to call
// it.
constexpr const char* names[] = {"_Znwm",   "_Znam",  "_ZnwmRKSt9nothrow_t",  "_ZnwmSt11align_val_t", "_ZdlPv",
                                 "_ZdlPvm", "_ZdaPv", "_ZdlPvSt11align_val_t"};

constinit const char something_of_ours = 0;

// Whether a name means our definition to the program. Its address, taken here, would be the program's own; and that of
// a program at a fixed place which takes it is its stand-in, which jumps to who defines it.
bool means_ours(const char* name) {
  const void* meant = dlsym(RTLD_DEFAULT, name);
  if (meant != nullptr && meant == image(*program_map()).stand_in(name)) meant = defined_from(program_map(), name);
  return in_one_object(meant, &something_of_ours);
}

bool is_replacement(const link_map& map, const void* definition, const void* allocator) {
  return !is_library_of_cxx(map) && !in_one_object(definition, allocator);
}

// Attached: with the loader's lock held, and dlsym finds nothing behind us.
bool is_replaced_late(const char* name, const void* allocator) {
  if (image(*program_map()).definition(name) != nullptr) return true;
  const void* const found = late_next(name);
  if (found == nullptr) return false;
  const link_map* const in = scope_of_program().holder(found);
  return in == nullptr || is_replacement(*in, found, allocator);
}

}  // namespace

// The handler is theirs alone: who replaces an operator asks for it.
bool is_library_of_cxx(const link_map& map) {
  const char* const slash = std::strrchr(map.l_name, '/');
  const char* const file = slash != nullptr ? slash + 1 : map.l_name;
  return std::strncmp(file, "libstdc++.", 10) == 0 || std::strncmp(file, "libc++", 6) == 0 ||
         image(map).definition("_ZSt15get_new_handlerv") != nullptr;
}

operators_behind find_operators(const void* allocator) {
  if (is_late()) {
    for (const char* name : names)
      if (is_replaced_late(name, allocator)) return operators_behind::replaced;
    return operators_behind::of_library;
  }
  auto found = operators_behind::none;
  const link_map* const own = own_map();
  for (const char* name : names) {
    if (!means_ours(name)) return operators_behind::replaced;
    for (const link_map* map = own != nullptr ? own->l_next : nullptr; map != nullptr; map = map->l_next) {
      const void* const definition = image(*map).definition(name);
      if (definition == nullptr) continue;
      if (is_replacement(*map, definition, allocator)) return operators_behind::replaced;
      found = operators_behind::of_library;
      break;
    }
  }
  return found;
}

operators_behind find_operators_of(const void* caller, const void* allocator) {
  for (const char* name : names) {
    dl_find_object object;
    void* const definition = definition_near(caller, name);
    if (definition != nullptr && _dl_find_object(definition, &object) == 0 &&
        is_replacement(*object.dlfo_link_map, definition, allocator))
      return operators_behind::replaced;
  }
  return operators_behind::of_library;
}

}  // namespace heapledger::probe

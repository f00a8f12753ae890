#include "probe/loader/nearest.hpp"

#include <dlfcn.h>
#include <gnu/libc-version.h>

#include <algorithm>
#include <cstddef>

#include "probe/loader/image.hpp"

namespace heapledger::probe {
namespace {

constexpr std::size_t most_modules = 256;

struct question {
  const link_map* module;
  const char* name;
  void* answer;
};

struct nearest_modules {
  const link_map* found[most_modules];
  std::size_t count = 0;

  bool has(const link_map* module) const { return std::find(found, found + count, module) != found + count; }
  void add(const link_map* module) {
    if (count < most_modules && !has(module)) found[count++] = module;
  }
};

// By whom the loader was made to load it: the first of those that need it, and need what needs it. A name means to all
// of them what it means there.
const link_map* opened_for(const link_map* module) {
  nearest_modules needing;
  needing.add(module);
  for (std::size_t i = 0; i < needing.count; ++i) {
    const char* const soname = image(*needing.found[i]).soname();
    for (const link_map* map = _r_debug.r_map; map != nullptr && soname != nullptr; map = map->l_next)
      if (image(*map).needs(soname)) needing.add(map);
  }
  for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
    if (needing.has(map)) return map;
  return module;
}

// Called for the first module only: what counts is that the list stays as it is until it returns.
int answer(dl_phdr_info*, std::size_t, void* argument) {
  auto& of = *static_cast<question*>(argument);
  nearest_modules near;
  if (of.module != nullptr) near.add(opened_for(of.module));
  for (std::size_t i = 0; i < near.count; ++i) {
    const image module(*near.found[i]);
    const bool is_ours = near.found[i]->l_ld == _DYNAMIC;
    of.answer = is_ours ? nullptr : module.definition(of.name);
    if (of.answer != nullptr) return 1;
    for (const link_map* map = _r_debug.r_map; map != nullptr; map = map->l_next)
      if (const char* soname = image(*map).soname(); soname != nullptr && module.needs(soname)) near.add(map);
  }
  for (const link_map* map = _r_debug.r_map; map != nullptr && of.answer == nullptr; map = map->l_next)
    if (map->l_ld != _DYNAMIC) of.answer = image(*map).definition(of.name);
  return 1;
}

}  // namespace

void* nearest_definition(const link_map* module, const char* name) {
  question of{module, name, nullptr};
  // libc's own dl_iterate_phdr: programs replace it by one without a lock.
  dl_find_object libc;
  if (_dl_find_object(reinterpret_cast<void*>(gnu_get_libc_version), &libc) != 0) return nullptr;
  void* const iterate = image(*libc.dlfo_link_map).definition("dl_iterate_phdr");
  if (iterate != nullptr) reinterpret_cast<decltype(&dl_iterate_phdr)>(iterate)(answer, &of);
  return of.answer;
}

}  // namespace heapledger::probe
